package jsonrpc

// Request returns a request for the method with the params of m and nothing else that
// m says, as [AppendRequest] writes it. The params were read when m was, under whatever
// Rules, and are not read again: 15 MiB of them would be as slow as the first time
// (FINDINGS M3). id is raw JSON. The error is an [*Error], about id or method.
func (m *Message) Request(id []byte, method string) (Message, error) {
	params := m.Get(Params)
	out, err := Parse(AppendRequest(nil, id, method, nil), Called)
	if err != nil || len(params) == 0 {
		return out, err
	}
	head := out.Raw[:len(out.Raw)-1]
	out.Raw = AppendRequest(make([]byte, 0, len(head)+len(params)+len(`,"params":}`)), id, method, params)
	start := len(out.Raw) - 1 - len(params)
	out.at[Params] = Span{Key: len(head) + 1, Start: start, End: start + len(params)}
	by := start - m.at[Params].Start
	for _, fields := range [...][]Field{inParams, inMeta} {
		for _, f := range fields {
			if s := m.at[f]; s.End != 0 {
				out.at[f] = Span{s.Key + by, s.Start + by, s.End + by}
			}
		}
	}
	return out, nil
}
