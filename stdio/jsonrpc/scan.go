package jsonrpc

import (
	"bytes"
	"math"
)

// Scan reads data, which must be one JSON object, once and whole. It checks it
// under r and stores the spans of the members named by s in slots, which must
// have a place for every slot of s; they are cleared first. Offsets are
// relative to data, of which nothing is kept.
//
// The error is an [*Error]. The slots then hold what had been read so far:
// enough to say in a log whom a refused text claims to be from, and not to be
// trusted further. A Scan that finds nothing wrong does not allocate.
func Scan(data []byte, r Rules, s Shape, slots []Span) error {
	clear(slots)
	if limit := min(r.Size, math.MaxInt32); len(data) > limit {
		return &Error{Reason: TooLarge, Offset: limit}
	}
	keys := pool.Get().(*keyring)
	keys.most = r.Values
	sc := scanner{data: data, rules: r, slots: slots, keys: keys}
	sc.document(s)
	err := keys.err
	keys.release()
	if err != nil {
		return err
	}
	return nil
}

// failTwin fails for the key at i, which is the same as the one at twin in its object.
func (s *scanner) failTwin(i, twin int) int {
	text, before := s.written(i), s.written(twin)
	if bytes.Equal(text, before) {
		return s.failKey(DuplicateKey, i, text, "")
	}
	return s.failKey(KeysAlike, i, text, cutKey(before))
}

// written returns the key at i as it stands in the text, its escapes resolved.
func (s *scanner) written(i int) []byte {
	end, _ := s.str(i)
	return appendDecoded(nil, s.data[i+1:end-1])
}

func (s *scanner) document(shape Shape) {
	i := s.space(0)
	first := s.peek(i)
	if first == '[' {
		s.fail(Batch, i)
		return
	}
	end := -1
	if first == '{' {
		end = s.object(i, 1, shape, true)
	} else {
		end = s.value(i, 1, nil)
	}
	if end < 0 {
		return
	}
	if end = s.space(end); end < len(s.data) {
		s.fail(TrailingData, end)
	} else if first != '{' {
		s.fail(NotObject, i)
	}
}

// value reads one value. depth is what it has if it is an object or array;
// inside names the members to find if it is an object.
func (s *scanner) value(i, depth int, inside Shape) int {
	if s.values++; s.values > s.rules.Values && s.rules.Values > 0 {
		return s.fail(TooLarge, i)
	}
	switch c := s.peek(i); c {
	case '"':
		end, _ := s.str(i)
		return end
	case '{':
		return s.object(i, depth, inside, inside != nil)
	case '[':
		return s.array(i, depth)
	case 't':
		return s.word(i, "true")
	case 'f':
		return s.word(i, "false")
	case 'n':
		return s.word(i, "null")
	default:
		return s.number(i)
	}
}

func (s *scanner) array(i, depth int) int {
	if depth > s.rules.Depth {
		return s.fail(TooDeep, i)
	}
	i = s.space(i + 1)
	if s.peek(i) == ']' {
		return i + 1
	}
	for {
		if i = s.value(i, depth+1, nil); i < 0 {
			return -1
		}
		i = s.space(i)
		switch s.peek(i) {
		case ',':
			i = s.space(i + 1)
		case ']':
			return i + 1
		default:
			return s.fail(Syntax, i)
		}
	}
}

// object reads one object. named says that a Shape names it, which may be empty.
func (s *scanner) object(i, depth int, shape Shape, named bool) int {
	if depth > s.rules.Depth {
		return s.fail(TooDeep, i)
	}
	strict := named && (depth == 1 || !s.rules.TopOnly)
	o := object{shape: shape, unique: strict || s.rules.EveryLevel, alike: s.rules.Alike}
	o.refusesVariants = strict && (s.rules.VariantsFrom == 0 || depth < s.rules.VariantsFrom)
	i = s.space(i + 1)
	if s.peek(i) == '}' {
		return i + 1
	}
	o.open(s.keys)
	for {
		if i = s.member(i, depth, &o); i < 0 {
			return -1
		}
		i = s.space(i)
		switch s.peek(i) {
		case ',':
			i = s.space(i + 1)
		case '}':
			return s.closeObject(i, &o)
		default:
			return s.fail(Syntax, i)
		}
	}
}

func (s *scanner) closeObject(i int, o *object) int {
	if len(s.keys.refs)-o.refs > maxLinear {
		if k, twin := s.keys.repeated(s.data, o); k != nil {
			return s.failTwin(int(k.at), int(twin.at))
		}
	}
	o.close(s.keys)
	return i + 1
}

// member reads one key with its value.
func (s *scanner) member(i, depth int, o *object) int {
	if s.peek(i) != '"' {
		return s.fail(Syntax, i)
	}
	end, has := s.str(i)
	if end < 0 {
		return -1
	}
	var found *Member
	if o.unique || o.shape != nil {
		var ok bool
		if found, ok = s.key(i, end, has, o); !ok {
			return -1
		}
	}
	colon := s.space(end)
	if s.peek(colon) != ':' {
		return s.fail(Syntax, colon)
	}
	start := s.space(colon + 1)
	if found == nil {
		return s.value(start, depth+1, nil)
	}
	if !o.unique {
		s.clear(found.Inside) // of an earlier value under the same key
	}
	if end = s.value(start, depth+1, found.Inside); end > 0 && found.Slot >= 0 {
		s.slots[found.Slot] = Span{Key: i, Start: start, End: end}
	}
	return end
}

// key holds the key between i and end against the object's other keys and its
// Shape. It returns the Member it names, if any, and whether it may stand.
func (s *scanner) key(i, end int, has traits, o *object) (*Member, bool) {
	off, text := uint32(i+1), s.data[i+1:end-1]
	if has&escaped != 0 {
		off, text = s.keys.decode(text)
	}
	found, letters := o.shape.find(text), text
	if has != 0 && (o.alike || found == nil && o.refusesVariants) {
		at, folded, ok := s.keys.fold(text)
		if !ok {
			s.fail(TooLarge, i)
			return nil, false
		}
		if letters = folded; o.alike {
			off, text = at, folded
		}
	}
	if found == nil && o.refusesVariants {
		if meant := o.shape.resembles(letters); meant != nil {
			s.failKey(KeyCase, i, s.written(i), meant.Name)
			return nil, false
		}
	}
	if !o.unique {
		return found, true
	}
	if twin := s.keys.add(s.data, ref{uint32(i), off, uint32(len(text))}, text, o); twin != nil {
		s.failTwin(i, int(twin.at))
		return nil, false
	}
	return found, true
}

func (s *scanner) clear(shape Shape) {
	for i := range shape {
		if at := shape[i].Slot; at >= 0 {
			s.slots[at] = Span{}
		}
		s.clear(shape[i].Inside)
	}
}
