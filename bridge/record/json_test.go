package record

import (
	"encoding/json"
	"reflect"
	"testing"
)

// A record is written as its tags say, whichever of its fields are set.
func TestRecordIsWrittenAsItsTagsSay(t *testing.T) {
	full := Record{}
	fill(t, reflect.ValueOf(&full).Elem())
	records := []Record{{}, {Event: Ended}, full}
	for i := range reflect.TypeFor[Record]().NumField() {
		one := Record{Event: "one"}
		reflect.ValueOf(&one).Elem().Field(i).Set(reflect.ValueOf(full).Field(i))
		records = append(records, one)
	}
	for _, r := range records {
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.JSON(); !sameText(t, got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestRecordIsOneLine(t *testing.T) {
	r := Record{Event: Decided, Detail: "a\nb\r\u2028<&>\xff", Args: []byte("{\r\n \"a\":\n\"b\\n\"}")}
	if got, want := string(r.JSON()), "{\"event\":\"decided\",\"args\":{   \"a\": \"b\\n\"},\"detail\":\"a\\nb\\r\u2028<&>\ufffd\"}"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// sameText compares two JSON texts as strings of tokens: order counts, escapes
// do not.
func sameText(t *testing.T, a, b []byte) bool {
	var canon [2]string
	for i, text := range [][]byte{a, b} {
		var raw json.RawMessage
		if err := json.Unmarshal(text, &raw); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		out, err := json.Marshal(raw) // which escapes alike
		if err != nil {
			t.Fatal(err)
		}
		canon[i] = string(out)
	}
	return canon[0] == canon[1]
}

// fill gives every field something to say.
func fill(t *testing.T, v reflect.Value) {
	for of, field := range v.Fields() {
		if of.Tag.Get("json") == "-" {
			continue
		}
		switch field.Kind() {
		case reflect.String:
			field.SetString("<é\"\\>")
		case reflect.Int, reflect.Int64:
			field.SetInt(-7)
		case reflect.Uint64:
			field.SetUint(1<<64 - 1)
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Slice:
			fillSlice(t, field)
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
			fill(t, field.Elem())
		default:
			t.Fatalf("a record has a field of kind %s: say here how to fill it", field.Kind())
		}
	}
}

func fillSlice(t *testing.T, field reflect.Value) {
	if field.Type() == reflect.TypeFor[json.RawMessage]() {
		field.SetBytes([]byte(`{"a":[1,"<"]}`))
		return
	}
	field.Set(reflect.MakeSlice(field.Type(), 2, 2))
	for i := range field.Len() {
		switch item := field.Index(i); item.Kind() {
		case reflect.Struct:
			fill(t, item)
		case reflect.Int:
			item.SetInt(-7)
		default:
			item.SetString("x<y")
		}
	}
}
