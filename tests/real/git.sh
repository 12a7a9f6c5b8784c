#!/bin/bash
# test: timeout=180
# git clone and log -p of a repository made here.
. "$LIB"
need git
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000' \
	GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
(
	git init -q "$TMP/repo" && cd "$TMP/repo" || exit 1
	for i in $(seq 30); do
		for f in $(seq 5); do seq $((i * f)) $((i * f + 100)) > file$f; done
		git add . && git commit -qm "commit $i" || exit 1
	done
) >/dev/null 2>&1 || fail 'the repository could not be made'
both bash -c "git clone -q --no-hardlinks $TMP/repo copy && cd copy && git log -p && git status --short && git grep -c 101 && git checkout -q HEAD~5 && git gc -q && git fsck"
