#!/bin/bash
# test: timeout=120
# perl: regular expressions, hashes (whose order is random), fork, pipe, sort, sprintf, signals.
. "$LIB"
need perl
cat > "$TMP/t.pl" <<'PL'
use strict; use warnings; use POSIX; $| = 1;
my %h; open my $f, '<', '/usr/include/stdio.h' or die; while (<$f>) { $h{$_}++ for /\w+/g } close $f;
print "$_ $h{$_}\n" for (sort { $h{$b} <=> $h{$a} || $a cmp $b } keys %h)[0 .. 20];
my $got = 0; $SIG{USR1} = sub { $got++ }; kill USR1 => $$ for 1 .. 3; print "signals $got\n";
pipe my $r, my $w; for my $i (1 .. 5) { my $p = fork; if (!$p) { syswrite $w, "child $i\n"; POSIX::_exit($i) } waitpid $p, 0; print $? >> 8, "\n" }
close $w; print sort <$r>; my @l = `echo one; echo two`; print scalar(@l), $l[1];
printf "%.10f %s\n", atan2(1, 1) * 4, join ',', map { $_ ** 2 } grep { $_ & 1 } 1 .. 20;
my $s = 'a' x 100000; $s =~ s/a{10}/b/g; print length $s, "\n"; exit 5;
PL
both perl "$TMP/t.pl"
rm -rf "$TMP/trace"
record perl -e 'my %h = map { $_ => rand } 1 .. 20; print "$_ $h{$_}\n" for keys %h; print time, " $$\n"'
replays
