package policy_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A secret in the reason for a withdrawal stood on record as it was written.
func TestASecretInAReasonIsHidden(t *testing.T) {
	p, err := policy.Load("x.yaml", []byte("version: 1\ndefault: deny\n"))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                                  "",
		"no longer needed":                  "no longer needed",
		"see https://x.y/z: it is done":     "see https://x.y/z: it is done",
		"password=hunter2":                  "password=[redacted]",
		"the DB_PASSWORD = hunter2, sorry":  "the DB_PASSWORD =[redacted], sorry",
		`{"api_token": "a b c", "x": 1}`:    `{"api_token":[redacted], "x": 1}`,
		"token:abc;secret:'x y' z":          "token:[redacted];secret:[redacted] z",
		"Authorization token: Bearer abc d": "Authorization token:[redacted] d",
		"password: ":                        "password: ",
		"héllo=1 pässword=2 ünsecret=3":     "héllo=1 pässword=2 ünsecret=[redacted]",
		"token=\"never closed":              "token=[redacted]",
		`password="a\"S3CRET" x`:            `password=[redacted] x`,
		`password='a\\' x`:                  `password=[redacted] x`,
		"password = Bearer  S3CRET x":       "password =[redacted] x",
		"token: Basic\tS3CRET x":            "token:[redacted] x",
		"token:\nBearer\r\n S3CRET x":       "token:[redacted] x",
		"password=\nS3CRET":                 "password=[redacted]",
		"password=\u00a0S3CRET":             "password=[redacted]",
		"password＝S3CRET":                   "password＝[redacted]",
		"ＰＡＳＳＷＯＲＤ： S3CRET x":                "ＰＡＳＳＷＯＲＤ：[redacted] x",
		"password﹦S3CRET﹕x":                 "password﹦[redacted]",
		"password: =S3CRET":                 "password:[redacted]",
		"password :\n":                      "password :\n",
	} {
		if got := p.RedactText(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if policy.LooksSecret(text) != (text != want) {
			t.Errorf("%q looks secret: %v", text, text == want)
		}
	}
	off, err := policy.Load("x.yaml", []byte("version: 1\ndefault: deny\nredact: [pin]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := off.RedactText("pin=1234 token=x"); got != "pin=[redacted] token=x" {
		t.Errorf("%q", got)
	}
}
