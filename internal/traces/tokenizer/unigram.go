package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/cachesim/cachesim/internal/base/jsonlines"
)

// unigram cuts words into the tokens with the highest sum of scores.
type unigram struct {
	tokens       trie
	ids          map[string]uint32
	scores       []float64
	unknown      int // -1 if there is none
	unknownScore float64
	fallback     *fallbackBytes
	best         []path
	ends         []int
}

// path is the best way to the end of a prefix: its last token, from where on, and the sum of the scores.
type path struct {
	token int
	from  int // -1 if there is none yet
	score float64
}

func newUnigram(m modelFile) (*unigram, error) {
	if len(m.Vocabulary) == 0 {
		return nil, errNoVocabulary
	}
	var pairs [][2]json.RawMessage
	if err := jsonlines.Parse(m.Vocabulary, &pairs, "pairs of a token and its score"); err != nil {
		return nil, fmt.Errorf("the vocabulary: %w", err)
	}
	u := &unigram{ids: make(map[string]uint32, len(pairs)), scores: make([]float64, len(pairs)), unknown: -1,
		unknownScore: math.Inf(1)}
	for i, pair := range pairs {
		var token string
		if json.Unmarshal(pair[0], &token) != nil || json.Unmarshal(pair[1], &u.scores[i]) != nil {
			return nil, fmt.Errorf("token %d of the vocabulary: want a pair of a text and its score", i)
		}
		u.ids[token] = uint32(i)
		u.unknownScore = min(u.unknownScore, u.scores[i])
	}
	const penalty = 10 // of SentencePiece
	u.unknownScore -= penalty
	if m.UnknownID != nil {
		if u.unknown = *m.UnknownID; u.unknown < 0 || u.unknown >= len(pairs) {
			return nil, fmt.Errorf("unk_id is %d: want a token of the vocabulary, which has %d", u.unknown, len(pairs))
		}
	}
	if m.ByteFallback {
		u.fallback = newFallback(u.ids)
	}
	var err error
	u.tokens, err = newTrie(u.ids)
	return u, err
}

var errNoUnknown = errors.New("a text has a character that the vocabulary lacks, and the tokenizer has no unk_id for " +
	"it")

func (u *unigram) encode(to []uint32, word string) ([]uint32, error) {
	if err := u.findBest(word); err != nil {
		return to, err
	}
	u.ends = u.ends[:0] // of tokens, from the last to the first; unknown characters in a row are one
	for end := len(word); end > 0; {
		u.ends = append(u.ends, end)
		begin := u.best[end].from
		for u.unknown >= 0 && u.best[end].token == u.unknown && begin > 0 && u.best[begin].token == u.unknown {
			begin = u.best[begin].from
		}
		end = begin
	}
	begin := 0
	for i := len(u.ends) - 1; i >= 0; i-- {
		text := word[begin:u.ends[i]]
		begin = u.ends[i]
		if id, ok := u.ids[text]; ok {
			to = append(to, id)
		} else if to, ok = u.fallback.add(to, text); ok {
			continue
		} else if u.unknown >= 0 {
			to = append(to, uint32(u.unknown))
		} else {
			return to, errNoUnknown
		}
	}
	return to, nil
}

// findBest finds the best way to every place in a word (Viterbi).
func (u *unigram) findBest(word string) error {
	u.best = u.best[:0]
	for range len(word) + 1 {
		u.best = append(u.best, path{from: -1})
	}
	improve := func(end int, p path) {
		if best := &u.best[end]; best.from < 0 || p.score > best.score {
			*best = p
		}
	}
	for at := 0; at < len(word); {
		_, size := utf8.DecodeRuneInString(word[at:])
		here, known := u.best[at].score, false
		node := uint32(0)
		for end := at; end < len(word); {
			var ok bool
			if node, ok = u.tokens.child(node, word[end]); !ok {
				break
			}
			end++
			if token := u.tokens.tokens[node]; token >= 0 {
				improve(end, path{int(token), at, u.scores[token] + here})
				known = known || end == at+size
			}
		}
		if !known {
			if u.unknown < 0 {
				return errNoUnknown
			}
			improve(at+size, path{u.unknown, at, u.unknownScore + here})
		}
		at += size
	}
	return nil
}
