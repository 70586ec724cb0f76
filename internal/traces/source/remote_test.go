package source

import (
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
)

func TestURLsNameThePipe(t *testing.T) {
	for path, want := range map[string]string{
		"s3://b/logs/a.gz":          "aws s3 cp s3://b/logs/a.gz - | cachesim run -",
		"s3a://b/k":                 "aws s3 cp s3://b/k - | cachesim run -",
		"gs://b/it's here":          `gcloud storage cat 'gs://b/it'\''s here' | cachesim run -`,
		"az://logs/2026/a.json":     "az storage blob download --container-name logs --name 2026/a.json --output none | ",
		"https://e.com/a.log?x=1&y": "curl -sSL 'https://e.com/a.log?x=1&y' | cachesim run -",
		"http://e.com/a.log":        "curl -sSL http://e.com/a.log | cachesim run -",
		"hdfs://n/a":                "hdfs dfs -cat hdfs://n/a | cachesim run -",
	} {
		must.Fail(t, CheckLocal(path), path+": want a file or a pipe, not a URL: "+want, path)
		_, err := OpenFile(t.Context(), path, nil)
		must.Fail(t, err, want, path)
	}
	for _, path := range []string{"a.log", "-", "s3:/b", "C:/a", "x://y", "://", "a/https:/b"} {
		must.Do(t, CheckLocal(path))
	}
}
