package embed

import (
	"fmt"
	"os"
	"strings"
	"unicode"
)

// The service that gets a key by default, and the environment variable that holds the key.
const (
	OpenAIHost = "api.openai.com"
	OpenAIKey  = "OPENAI_API_KEY"
)

// ReadKey reads the service's key from an environment variable. Without a name, OpenAI's service uses OpenAI's
// variable, and other services use no key.
func (e *Endpoint) ReadKey(name string) error {
	if name == "" && e.Host() == OpenAIHost {
		name = OpenAIKey
	}
	if name == "" {
		return nil
	}
	e.Key = strings.TrimSpace(os.Getenv(name))
	if e.Key == "" {
		return fmt.Errorf("environment variable %s is empty: want the service's key; --key-env names another", name)
	}
	if strings.ContainsFunc(e.Key, unicode.IsControl) {
		return fmt.Errorf("environment variable %s contains a line break or another control character: want only the "+
			"service's key", name)
	}
	return nil
}
