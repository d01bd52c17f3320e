// The official Go SDK as server and as client:
//
//	interop serve stdio|http|stateless <folder>
//	interop drive legacy|modern|auto <url>
//	interop drive legacy|modern|auto <command> <argument ...>
package main

import (
	"context"
	"log"
	"os"
)

func main() {
	if len(os.Args) < 4 {
		log.Fatal("usage: interop serve <mode> <folder> | interop drive <era> <target ...>")
	}
	var err error
	switch ctx := context.Background(); os.Args[1] {
	case "serve":
		err = serve(ctx, os.Args[2], ledger{folder: os.Args[3]})
	case "drive":
		err = drive(ctx, os.Args[2], os.Args[3:])
	default:
		log.Fatalf("unknown command %q", os.Args[1])
	}
	if err != nil {
		log.Fatal(err)
	}
}
