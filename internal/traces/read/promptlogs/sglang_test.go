package promptlogs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cachesim/cachesim/internal/base/testing/must"
	"github.com/cachesim/cachesim/internal/traces/prompts"
	"github.com/cachesim/cachesim/internal/traces/read"
	"github.com/cachesim/cachesim/internal/traces/stream"
	"github.com/cachesim/cachesim/internal/traces/tracetest"
)

// sglangText is a request as SGLang prints it, with these fields.
func sglangText(rid, fields string) string {
	return "[2026-03-01 12:00:0" + rid + "] Receive: obj=GenerateReqInput(rid='" + rid + "', " + fields + ", " +
		"sampling_params=" +
		"{'stop': [')', 'text='], 'max_new_tokens': 16}, return_logprob=False, stream=False)\n"
}

func sglangJSON(rid, fields string) string {
	return `{"timestamp": "2026-03-01T12:00:0` + rid + `", "event": "request.received", "rid": "` + rid + `", ` +
		`"obj": {` + fields +
		`, "sampling_params": {"max_new_tokens": 16}}}` + "\n"
}

func TestSGLang(t *testing.T) {
	ab := textWith("ab")
	text := "[2026-03-01 11:59:59] server_args=ServerArgs(log_requests=True)\n" +
		sglangText("1", "text='"+ab+"', input_ids=None, image_data=None") +
		sglangText("2", "text=None, input_ids=[1, 2, 3, 4, 5], image_data=['x']") +
		sglangText("3", `text=["`+ab+`", 'ab'], input_ids=None`) +
		"[2026-03-01 12:00:04 TP0] Decode batch. #running-req: 1\n" +
		"[2026-03-01 12:00:09] Finish: obj=GenerateReqInput(rid='1', text='x'), out={'text': \"'completion_tokens': 9\", " +
		"'meta_info': {'prompt_tokens': 8, 'completion_tokens': 7, 'cached_tokens': 0}}\n"
	json := sglangJSON("1", `"text": "`+ab+`", "input_ids": null`) + sglangJSON("2", `"text": null, "input_ids": `+
		`[1, 2, 3, 4, 5]`) +
		sglangJSON("3", `"text": ["`+ab+`", "ab"]`) + `{"timestamp": "2026-03-01T12:00:09", "event": "request.finished", ` +
		`"rid": "1", "obj": {"text": "x"}, "out": {"text": "y", "meta_info": {"completion_tokens": 7}}}` + "\n"
	for name, content := range map[string]string{"text": text, "JSON": json, "JSON with a prefix": "[12:00:00] " +
		strings.ReplaceAll(strings.TrimSpace(json), "\n", "\n[12:00:00] ") + "\n"} {
		t.Run(name, func(t *testing.T) {
			tr := loadAs(t, content, "sglang:block=4")
			p := prompts.Of(tr.Kind)
			if !slices.Equal(p.InputTokens, []int32{8}) || !slices.Equal(p.OutputTokens, []int32{7}) ||
				p.Arrivals == nil {
				t.Errorf("finished prompts %+v", p)
			}
			unfinished, _, _ := strings.Cut(content, "[2026-03-01 12:00:09")
			if name != "text" {
				unfinished = content[:strings.LastIndex(strings.TrimSpace(content), "\n")+1]
			}
			p = prompts.Of(loadAs(t, unfinished, "sglang:block=4").Kind)
			if !slices.Equal(p.InputTokens, []int32{8, 5, 8, 1}) || p.OutputTokens != nil || p.Arrivals[3]-p.Arrivals[0] != 2e9 {
				t.Errorf("prompts %+v", p)
			}
			if recognised := loadAs(t, content, ""); !strings.HasPrefix(recognised.ReadAs(), "sglang") {
				t.Errorf("recognised as %s", recognised.ReadAs())
			}
		})
	}
}

// sglangFinish is the end of a request as SGLang prints it, with these fields of the request.
func sglangFinish(second, rid, fields string) string {
	return "[2026-03-01 12:00:0" + second + "] Finish: obj=GenerateReqInput(rid='" + rid + "', " + fields +
		"stream=False), out={'text': 'y', 'meta_info': {'prompt_tokens': 8, 'completion_tokens': 7, 'e2e_latency': 1.5}}\n"
}

// TestSGLangFinishedOnly: a log of slow requests, or one that begins later than its first requests, has only their
// ends, and these have the prompts, too.
func TestSGLangFinishedOnly(t *testing.T) {
	ab := textWith("ab")
	json := `{"timestamp": "2026-03-01T12:00:05", "event": "request.finished", "rid": "1", "obj": {"text": "` + ab +
		`"}, "out": {"meta_info": {"completion_tokens": 7, "e2e_latency": 1.5}}}` + "\n"
	for name, content := range map[string]string{
		"text": sglangFinish("5", "1", "text='"+ab+"', "), "JSON": json,
		"cut, too": sglangFinish("4", "2", "text='a' ... 'b', ") + sglangFinish("5", "1", "text='"+ab+"', "),
	} {
		tr := loadAs(t, content, "sglang:block=4")
		p := prompts.Of(tr.Kind)
		if !slices.Equal(tr.Objects, []uint32{0, 1}) || !slices.Equal(p.OutputTokens, []int32{7}) ||
			p.Arrivals[0]%60e9 != 35e8 {
			t.Errorf("%s: blocks %v, prompts %+v", name, tr.Objects, p)
		}
		if recognised := loadAs(t, content, ""); !strings.HasPrefix(recognised.ReadAs(), "sglang") {
			t.Errorf("recognised as %s", recognised.ReadAs())
		}
	}
	both := sglangText("1", "text='"+ab+"'") + sglangText("4", "text='"+ab+"'") + sglangFinish("5", "1", "text='x', ") +
		sglangFinish("6", "2", "text='"+ab+"', ")
	tr := loadAs(t, both, "sglang:block=4")
	if p := prompts.Of(tr.Kind); !slices.Equal(p.InputTokens, []int32{8, 8}) || p.Arrivals[0]%60e9 != 1e9 ||
		p.Arrivals[1]%60e9 != 45e8 || tr.LeftOut() != 1 {
		t.Errorf("prompts %+v, %d left out", p, tr.LeftOut())
	}
}

// TestSGLangBatches: a request with several prompts is received once, and finished once for each prompt.
func TestSGLangBatches(t *testing.T) {
	ab, abc := textWith("ab"), textWith("abc")
	json := `{"timestamp": "2026-03-01T12:00:01", "event": "request.received", "rid": ["1", "2"], "obj": {"text": ["` +
		ab + `", "` + abc + `"]}}` + "\n"
	for _, rid := range []string{"2", "1"} {
		json += `{"timestamp": "2026-03-01T12:00:05", "event": "request.finished", "rid": "` + rid +
			`", "obj": {"text": "x"}, "out": ` +
			`{"meta_info": {"prompt_tokens": 8, "completion_tokens": 7, "e2e_latency": 1.5}}}` + "\n"
	}
	received := "[2026-03-01 12:00:01] Receive: obj=GenerateReqInput(rid=['1', '2'], "
	finished := sglangFinish("5", "2", "text='x', ") + sglangFinish("5", "1", "text='x', ")
	for name, content := range map[string]string{"JSON": json,
		"text": received + "text=['" + ab + "', '" + abc + "'])\n" + finished} {
		tr := loadAs(t, content, "sglang:block=4")
		p := prompts.Of(tr.Kind)
		if !slices.Equal(p.InputTokens, []int32{8, 12}) || !slices.Equal(p.OutputTokens, []int32{7, 7}) || tr.LeftOut() != 0 {
			t.Errorf("%s: prompts %+v, %d left out", name, p, tr.LeftOut())
		}
	}
	_, p := lengthsOf(t, received+"stream=False)\n"+finished)
	if !slices.Equal(p.InputTokens, []int32{8, 8}) || p.Arrivals[1]%60e9 != 1e9 {
		t.Errorf("lengths %+v", p)
	}
}

// TestSGLangLengths: levels 0 and 1 print no prompts, but their lengths, when requests are finished.
func TestSGLangLengths(t *testing.T) {
	if tr := loadAs(t, sglangJSON("1", `"text": "abcd"`)+sglangJSON("2", `"text": ""`), ""); tr.LeftOut() != 1 ||
		tr.Readings[0].LeftOutText() != "1 row left out (without text)" {
		t.Errorf("an empty prompt: %s", tr.Readings[0].LeftOutText())
	}
	_, p := lengthsOf(t, sglangText("1", "stream=False")+sglangText("2", "stream=False")+sglangFinish("5", "1", "")+
		sglangFinish("6", "3", ""))
	if !p.LengthsOnly || !slices.Equal(p.InputTokens, []int32{8, 8}) || !slices.Equal(p.OutputTokens, []int32{7, 7}) ||
		p.Arrivals[0]%60e9 != 1e9 || p.Arrivals[1]%60e9 != 45e8 {
		t.Errorf("prompts %+v", p)
	}
}

// TestSGLangCutPrompts: prompts that the log cuts cannot be compared beyond their beginnings.
func TestSGLangCutPrompts(t *testing.T) {
	long := strings.Repeat("x", 1024)
	good := sglangText("1", "text='abcd'") + sglangJSON("1", `"text": "abcd"`)
	for name, line := range map[string]string{
		"text": sglangText("2", "text='"+long+"' ... '"+long+"'"), "ids": sglangText("2", "text=None, input_ids=[1, "+
			"2] ... [3, 4]"),
		"texts": sglangText("2", "text=['a'] ... ['b']"), "JSON": sglangJSON("2", `"text": "`+long+"..."+long+`"`),
		"JSON ids":         sglangJSON("2", `"text": null, "input_ids": [1, "...", 2]`),
		"JSON id lists":    sglangJSON("2", `"input_ids": [[1, "...", 2], [3]]`),
		"abbreviated":      sglangText("2", "text=<text: 9000 chars, blake2b=00ff>"),
		"JSON abbreviated": sglangJSON("2", `"text": "<text: 9000 chars, blake2b=00ff>"`),
	} {
		tr := loadAs(t, good+line, "")
		if said := tr.Readings[0].LeftOutText(); len(tr.Groups) != 2 || said != "1 row left out (cut by the log, "+
			"which has only "+
			"the ends of the prompt)" {
			t.Errorf("%s: %d prompts, %s", name, len(tr.Groups), said)
		}
	}
}

// TestSGLangOfOpenAI: 0.5.23 prints what OpenAI's API got before the request that it becomes, and in text no dates.
func TestSGLangOfOpenAI(t *testing.T) {
	text := "Receive OpenAI: obj={'messages': [{'role': 'user', 'content': 'ab'}]}\n" +
		"Receive: obj=GenerateReqInput(rid='1', session_id='s', text='abcd', image_data=[None, None]), headers={'k': 'v'}\n" +
		"Receive: obj=GenerateReqInput(rid='2', session_id='s', text=None, input_ids=[1], video_data=[['x'], None])\n"
	json := `{"timestamp": "2026-03-01T12:00:01", "event": "request.received.openai", "obj": {"messages": []}}` + "\n" +
		sglangJSON("1", `"session_id": "s", "text": "abcd", "image_data": [null, null]`) +
		sglangJSON("2", `"session_id": "s", "input_ids": [1], "video_data": [["x"], null]`)
	for name, content := range map[string]string{"text": text, "JSON": json} {
		tr := loadAs(t, content, "")
		p := prompts.Of(tr.Kind)
		reading := tr.Readings[0]
		if !strings.HasPrefix(tr.ReadAs(), "sglang") || !slices.Equal(p.InputTokens, []int32{1, 1}) ||
			p.Sessions[0] != p.Sessions[1] || (p.Arrivals != nil) != (name == "JSON") {
			t.Errorf("%s: %s, prompts %+v", name, tr.ReadAs(), p)
		}
		videos := stream.Tally{Sort: "with videos left out", N: 1}
		if said := reading.LeftOutText(); said != "1 row left out (other lines)" || !slices.Equal(reading.Notable,
			[]stream.Tally{videos}) {
			t.Errorf("%s: %s, %v", name, said, reading.Notable)
		}
	}
}

func TestSGLangErrors(t *testing.T) {
	good := sglangText("1", "text='abcd'")
	for name, c := range map[string]struct{ content, want string }{
		"cut off": {good + "[2026-03-01 12:00:00] Receive: obj=GenerateReqInput(rid='1', text='ab\n", "line 2: " +
			"column 70: want the quote"},
		"wrong ids": {good + sglangText("2", "input_ids=[a]"), "line 2: column 73: want the id of a token"},
		"no fields": {good + "Receive: obj=GenerateReqInput(5)", "line 2: column 32: want a name with its value"},
		"JSON":      {good + `{"timestamp": "2026", "event": "request.received", "obj": {"text": 5` + "\n", "line 2: "},
		"level 1":   {sglangText("1", "stream=True"), "1 requests, but no prompts: start SGLang with --log-requests"},
	} {
		_, err := tracetest.LoadText(t, c.content, read.Options{})
		must.Fail(t, err, c.want, name)
	}
}
