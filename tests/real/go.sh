#!/bin/bash
# test: timeout=300
# A Go program: goroutines, channels, a mutex, a timer, garbage collection, a child process, HTTP to itself.
. "$LIB"
need go
cat > "$TMP/t.go" <<'GO'
package main

import ("fmt"; "io"; "net"; "net/http"; "os"; "os/exec"; "runtime"; "sync"; "time")

func worker(id int, jobs <-chan int, out chan<- int, wg *sync.WaitGroup) { defer wg.Done(); for j := range jobs { out <- j * j } }
func main() {
	jobs, out := make(chan int), make(chan int, 10)
	var wg sync.WaitGroup
	for i := 0; i < 20; i++ { wg.Add(1); go worker(i, jobs, out, &wg) }
	go func() { for i := 0; i < 2000; i++ { jobs <- i }; close(jobs); wg.Wait(); close(out) }()
	sum := 0
	for v := range out { sum += v }
	fmt.Println(sum)
	var mu sync.Mutex
	m := map[int]string{}
	var w2 sync.WaitGroup
	for i := 0; i < 50; i++ { w2.Add(1); go func(i int) { defer w2.Done(); mu.Lock(); m[i] = fmt.Sprint(i); mu.Unlock() }(i) }
	w2.Wait()
	fmt.Println(len(m))
	var keep [][]byte
	for i := 0; i < 200; i++ { keep = append(keep, make([]byte, 100000)); if i%20 == 0 { keep = nil; runtime.GC() } }
	select { case <-time.After(5 * time.Millisecond): fmt.Println("timer") }
	o, err := exec.Command("sh", "-c", "echo child").Output()
	fmt.Printf("%s%v\n", o, err)
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "served", r.URL.Path) }))
	r, err := http.Get("http://" + l.Addr().String() + "/x")
	if err != nil { panic(err) }
	b, _ := io.ReadAll(r.Body)
	fmt.Print(string(b))
	os.Exit(8)
}
GO
(cd "$TMP" && GOFLAGS=-mod=mod GO111MODULE=off GOCACHE="$TMP/gocache" GOPATH="$TMP/gopath" GOTOOLCHAIN=local CGO_ENABLED=0 go build -o t t.go) || fail 'go build failed'
both "$TMP/t"
