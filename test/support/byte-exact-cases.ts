// What passes byte for byte, or was not relayed but read and written again: arguments and results with numbers, keys,
// escapes and members that a parser of JSON changes.

/** JSON texts that a parse and a stringify would change. */
export const awkwardArguments: Readonly<Record<string, string>> = {
  'an integer beyond 2^53': '{"n":9007199254740993}',
  'a float that is an integer': '{"n":1.0}',
  'a number beyond a double': '{"n":1e400,"m":-1e400}',
  'negative zero': '{"n":-0,"m":-0.0}',
  'key order': '{"z":1,"a":2,"10":3,"2":4}',
  'lone surrogates': '{"s":"\\ud800","t":"\\udfff\\ud83d"}',
  'escapes that need not be': '{"s":"\\u0041\\/\\u00e9é"}',
  'duplicate keys': '{"a":1,"a":2,"b":{"c":1,"c":[]}}',
  'a prototype key': '{"__proto__":{"x":1},"constructor":2}',
  'white space': '{ "a" : [ 1 ,\t2 ] }',
  'unknown members': '{"io.example/next":{"deep":[[[{}]]]}}',
  'characters beyond the BMP': '{"s":"𝒳😀\u2028"}',
};

/** Results of a tool that do not survive it either. */
export const awkwardResults: Readonly<Record<string, string>> = {
  'unknown content types': '{"content":[{"type":"io.example/hologram","data":{"x":1.0}}]}',
  'unknown fields everywhere':
    '{"content":[{"type":"text","text":"x","io.example/a":1e400}],"io.example/b":[-0],"_meta":{"c":9007199254740993}}',
  'duplicate keys below structuredContent': '{"content":[],"structuredContent":{"a":1,"a":2.0}}',
  'a lone surrogate in content': '{"content":[{"type":"text","text":"\\ud800"}]}',
  'key order and spacing': '{ "isError" : false , "content" : [ ] }',
};
