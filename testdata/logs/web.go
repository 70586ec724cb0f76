package logs

import "fmt"

const (
	clf   = "02/Jan/2006:15:04:05 -0700"
	agent = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
)

// Common is the line of the Common Log Format. Its target may be a whole URL.
func (v visit) Common(target string) string {
	size := fmt.Sprint(v.Bytes)
	if v.Status == 304 || v.Status == 204 {
		size = "-"
	}
	return fmt.Sprintf(`%s - - [%s] "%s %s HTTP/1.1" %d %s`, v.Client, v.At.Format(clf), v.Method, target, v.Status, size)
}

// Combined is Common with the page before and the browser.
func (v visit) Combined(target string) string {
	return v.Common(target) + fmt.Sprintf(` "https://%s/" "%s"`, v.Host, agent)
}

// webKinds are logs of web servers, proxies and content delivery networks.
var webKinds = []kind{
	// Apache, "Log Files": LogFormat "%h %l %u %t \"%r\" %>s %b" common.
	{"apache-common.log", "", `{{.Common .Target}}`},
	// nginx, ngx_http_log_module: the predefined format combined, which writes 0 for an empty body.
	{"nginx-access.log", "", `{{replaceAll (.Combined .Target) " - \"h" " 0 \"h"}}`},
	// Apache on Debian: LogFormat "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" vhost_combined.
	{"apache-vhosts.log", "", `{{.Host}}:443 {{.Combined .Target}}`},
	// Microsoft, "W3C Logging": the fields that IIS logs unless told otherwise, and the bytes.
	{"iis-u_ex260301.log", "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n" +
		"#Date: 2026-03-01 12:00:00\n#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip " +
		"cs(User-Agent) cs(Referer) cs-host sc-status sc-substatus sc-win32-status sc-bytes time-taken\n",
		`{{.As "2006-01-02 15:04:05"}} 10.0.0.5 {{.Method}} {{.Path}} {{or .Query "-"}} 443 - {{.Client}} ` +
			`{{replaceAll agent " " "+"}} - {{.Host}} {{.Status}} 0 0 {{add .Bytes 300}} 31`},
	// AWS, "Standard logging (legacy) reference" of CloudFront.
	{"cloudfront-E2EXAMPLE.2026-03-01-12.log", "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip " +
		"cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type " +
		"x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher " +
		"x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields c-port time-to-first-byte " +
		"x-edge-detailed-result-type sc-content-type sc-content-len sc-range-start sc-range-end\n",
		`{{.As "2006-01-02	15:04:05"}}	FRA56-P1	{{add .Bytes 400}}	{{.Client}}	{{.Method}}	d111111abcdef8.cloudfront.net	` +
			`{{.Path}}	{{.Status}}	-	{{replaceAll agent " " "%20"}}	{{or .Query "-"}}	-	{{.EdgeResult}}	` +
			`SOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ==	{{.Host}}	https	23	0.001	-	TLSv1.3	` +
			`TLS_AES_128_GCM_SHA256	{{.EdgeResult}}	HTTP/2.0	-	-	11040	0.001	{{.EdgeResult}}	image/jpeg	{{.Bytes}}	-	-`},
	// AWS, "Access logs for your Application Load Balancer".
	{"alb.log", "", `https {{.As "2006-01-02T15:04:05.000000Z"}} app/my-loadbalancer/50dc6c495c0c9188 {{.Client}}:2817 ` +
		`10.0.0.1:80 0.001 0.048 0.037 {{.Status}} {{.Status}} 0 {{.Bytes}} ` +
		`"{{.Method}} https://{{.Host}}:443{{.Target}} HTTP/1.1" "{{agent}}" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 ` +
		`arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 ` +
		`"Root=1-58337281-1d84f3d73c47ec4e58577259" "{{.Host}}" ` +
		`"arn:aws:acm:us-east-2:123456789012:certificate/12345678-1234-1234-1234-123456789012" 1 ` +
		`{{.As "2006-01-02T15:04:05.000000Z"}} "forward" "-" "-" "10.0.0.1:80" "{{.Status}}" "-" "-" ` +
		`TID_dc57cebed65b444ebc8177bb698fe166`},
	// AWS, "Amazon S3 server access log format".
	{"s3-2026-03-01-12-21-00-7C3EXAMPLE", "", `79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be ` +
		`amzn-s3-demo-bucket1 [{{.As clf}}] {{.Client}} - 3E57427F33A59F07 ` +
		`REST.{{if eq .Method "POST"}}POST.UPLOAD{{else}}{{.Method}}.OBJECT{{end}} {{slice .Path 1}} ` +
		`"{{.Method}} /amzn-s3-demo-bucket1/{{slice .Path 1}} HTTP/1.1" {{.Status}} ` +
		`{{if eq .Status 404}}NoSuchKey{{else}}-{{end}} {{.Bytes}} {{.Bytes}} 7 6 "-" "S3Console/0.4" - ` +
		`s9lzHYrFp76ZVxRcpX9+5cjAnEH2ROuNkd2BHfIa6UkFVdtjf5mKR3/eTPFvsiP/XV/VLi31234= SigV4 ` +
		`ECDHE-RSA-AES128-GCM-SHA256 AuthHeader amzn-s3-demo-bucket1.s3.us-west-1.amazonaws.com TLSv1.2 - -`},
	// Squid, "Squid Log Files": the native format.
	{"squid-access.log", "", `{{.Unix 3}}    110 {{.Client}} ` +
		`{{if eq .Status 304}}TCP_REFRESH_UNMODIFIED{{else if .Hit}}TCP_HIT{{else}}TCP_MISS{{end}}/{{.Status}} ` +
		`{{add .Bytes 350}} {{.Method}} http://{{.Host}}{{.Target}} - HIER_DIRECT/192.0.2.1 image/jpeg`},
	// varnishncsa(1): the default format, combined with the host in the URL.
	{"varnishncsa.log", "", `{{.Combined (print "http://" .Host .Target)}}`},
	// HAProxy Configuration Manual, 8.2.3: option httplog, through syslog.
	{"haproxy.log", "", `{{.As "Jan _2 15:04:05"}} lb1 haproxy[14389]: {{.Client}}:33317 ` +
		`[{{.As "02/Jan/2006:15:04:05.000"}}] http-in static/srv1 10/0/30/69/109 {{.Status}} {{add .Bytes 250}} - - ---- ` +
		`1/1/1/1/0 0/0 "{{.Method}} {{.Target}} HTTP/1.1"`},
	// Envoy, "Access logging": the default format.
	{"envoy-access.log", "", `[{{.As "2006-01-02T15:04:05.000Z"}}] "{{.Method}} {{.Target}} HTTP/1.1" {{.Status}} - 0 ` +
		`{{.Bytes}} 226 100 "{{.Client}}" "{{agent}}" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "{{.Host}}" "10.0.2.1:80"`},
	// Traefik, "Access Logs": the Traefik common log format.
	{"traefik-access.log", "", `{{.Client}} - - [{{.As clf}}] "{{.Method}} {{.Target}} HTTP/2.0" {{.Status}} {{.Bytes}} ` +
		`"-" "-" 17 "web@docker" "http://10.0.0.2:80" 12ms`},
	// Traefik, "Access Logs": format json.
	{"traefik-access.json", "", `{"ClientAddr":"{{.Client}}:40000","ClientHost":"{{.Client}}","ClientPort":"40000",` +
		`"ClientUsername":"-","DownstreamContentSize":{{.Bytes}},"DownstreamStatus":{{.Status}},"Duration":1200000,` +
		`"OriginContentSize":{{.Bytes}},"OriginDuration":1100000,"OriginStatus":{{.Status}},"Overhead":100000,` +
		`"RequestAddr":"{{.Host}}","RequestContentSize":0,"RequestCount":17,"RequestHost":"{{.Host}}",` +
		`"RequestMethod":"{{.Method}}","RequestPath":"{{.Target}}","RequestPort":"-","RequestProtocol":"HTTP/2.0",` +
		`"RequestScheme":"https","RetryAttempts":0,"RouterName":"web@docker","ServiceName":"web@docker",` +
		`"StartLocal":"{{.As "2006-01-02T15:04:05.000000000Z"}}","StartUTC":"{{.As "2006-01-02T15:04:05.000000000Z"}}",` +
		`"entryPointName":"websecure","level":"info","msg":"","time":"{{.As "2006-01-02T15:04:05Z"}}"}`},
	// Caddy, "log": the entries of access logs.
	{"caddy-access.log", "", `{"level":"info","ts":{{.Unix 3}},"logger":"http.log.access","msg":"handled request",` +
		`"request":{"remote_ip":"{{.Client}}","remote_port":"41342","client_ip":"{{.Client}}","proto":"HTTP/2.0",` +
		`"method":"{{.Method}}","host":"{{.Host}}","uri":"{{.Target}}","headers":{"User-Agent":["{{agent}}"],` +
		`"Accept":["*/*"]}},"bytes_read":0,"user_id":"","duration":0.0009,"size":{{.Bytes}},"status":{{.Status}},` +
		`"resp_headers":{"Server":["Caddy"],"Content-Type":["image/jpeg"]}}`},
	// Cloudflare, "HTTP requests" of Logpush.
	{"cloudflare-20260301T120000Z.log", "", `{"CacheCacheStatus":"{{.Verdict "hit" "miss"}}","ClientIP":"{{.Client}}",` +
		`"ClientRequestHost":"{{.Host}}","ClientRequestMethod":"{{.Method}}","ClientRequestURI":"{{.Target}}",` +
		`"EdgeEndTimestamp":"{{.As "2006-01-02T15:04:05Z"}}","EdgeResponseBytes":{{add .Bytes 300}},` +
		`"EdgeResponseStatus":{{.Status}},"EdgeStartTimestamp":"{{.As "2006-01-02T15:04:05Z"}}",` +
		`"RayID":"3a6050bcbe121a87"}`},
	// AWS, "Standard logging reference" of CloudFront: output format JSON of standard logging (v2).
	{"cloudfront-v2.json", "", `{"date":"{{.As "2006-01-02"}}","time":"{{.As "15:04:05"}}","x-edge-location":"FRA56-P1",` +
		`"sc-bytes":"{{add .Bytes 400}}","c-ip":"{{.Client}}","cs-method":"{{.Method}}",` +
		`"cs(Host)":"d111111abcdef8.cloudfront.net","cs-uri-stem":"{{.Path}}","sc-status":"{{.Status}}",` +
		`"cs(Referer)":"-","cs(User-Agent)":"{{agent}}","cs-uri-query":"{{or .Query "-"}}",` +
		`"x-edge-result-type":"{{.Verdict "Hit" "Miss"}}","x-host-header":"{{.Host}}","cs-protocol":"https"}`},
	// Fastly, "Useful log formats": the JSON of its examples.
	{"fastly.log", "", `{"timestamp":"{{.As "2006-01-02T15:04:05-0700"}}","client_ip":"{{.Client}}",` +
		`"geo_country":"germany","geo_city":"frankfurt","host":"{{.Host}}","url":"{{.Target}}",` +
		`"request_method":"{{.Method}}","request_protocol":"HTTP/2","request_referer":"",` +
		`"request_user_agent":"{{agent}}","response_state":"{{.Verdict "HIT-CLUSTER" "MISS"}}",` +
		`"response_status":{{.Status}},"response_reason":"OK","response_body_size":{{.Bytes}},` +
		`"fastly_server":"cache-fra-etou8220099-FRA","fastly_is_edge":true}`},
	// Google Cloud, "Logging and monitoring" of Cloud CDN: LogEntry with httpRequest.
	{"google-cloud-cdn.json", "", `{"httpRequest":{"cacheHit":{{.Hit}},"cacheLookup":true,"latency":"0.012s",` +
		`"remoteIp":"{{.Client}}","requestMethod":"{{.Method}}","requestSize":"180",` +
		`"requestUrl":"https://{{.Host}}{{.Target}}","responseSize":"{{.Bytes}}","status":{{.Status}},` +
		`"userAgent":"{{agent}}"},"insertId":"1abc",` +
		`"jsonPayload":{"statusDetails":"{{.Verdict "response_from_cache" "response_sent_by_backend"}}"},` +
		`"logName":"projects/example/logs/requests","resource":{"labels":{"project_id":"example"},` +
		`"type":"http_load_balancer"},"severity":"INFO","timestamp":"{{.As "2006-01-02T15:04:05.000000Z"}}"}`},
	// Microsoft, "Monitor metrics and logs in Azure Front Door": AccessLog.
	{"azure-front-door.json", "", `{"time":"{{.As "2006-01-02T15:04:05.0000000Z"}}",` +
		`"resourceId":"/SUBSCRIPTIONS/0/PROFILES/EXAMPLE","category":"FrontDoorAccessLog",` +
		`"operationName":"Microsoft.Cdn/Profiles/AccessLog/Write","properties":{"trackingReference":"0abc",` +
		`"httpMethod":"{{.Method}}","httpVersion":"2.0","requestUri":"https://{{.Host}}:443{{.Target}}",` +
		`"sni":"{{.Host}}","requestBytes":"300","responseBytes":"{{.Bytes}}","userAgent":"{{agent}}",` +
		`"clientIp":"{{.Client}}","socketIp":"{{.Client}}","clientPort":"40000","timeToFirstByte":"0.010",` +
		`"timeTaken":"0.012","requestProtocol":"HTTPS","securityProtocol":"TLS 1.3","httpStatusCode":"{{.Status}}",` +
		`"pop":"FRA","cacheStatus":"{{.Verdict "HIT" "MISS"}}","errorInfo":"NoError","result":"NoError",` +
		`"endpoint":"example.z01.azurefd.net"}}`},
	// nginx, log_format with escape=json, as it is often written.
	{"nginx-access.json", "", `{"time_iso8601":"{{.As "2006-01-02T15:04:05-07:00"}}","remote_addr":"{{.Client}}",` +
		`"host":"{{.Host}}","request_method":"{{.Method}}","request_uri":"{{.Target}}","status":"{{.Status}}",` +
		`"body_bytes_sent":"{{.Bytes}}","request_time":"0.005","upstream_cache_status":"{{.Verdict "HIT" "MISS"}}"}`},
	// Docker and Kubernetes: each line of a container's output as JSON.
	{"kubernetes-nginx.log", "", `{"log":"{{replaceAll (.Combined .Target) "\"" "\\\""}}\n","stream":"stdout",` +
		`"time":"{{.As "2006-01-02T15:04:05.000000000Z"}}"}`},
}
