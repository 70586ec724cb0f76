package logs

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// webKind is a log of a web server, a proxy or a content delivery network.
type webKind struct {
	file, head string
	line       func(visit) string
}

const (
	clf   = "02/Jan/2006:15:04:05 -0700"
	agent = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
)

// common is the line of the Common Log Format. Its target may be a whole URL.
func common(v visit, target string) string {
	size := fmt.Sprint(v.bytes)
	if v.status == 304 || v.status == 204 {
		size = "-"
	}
	return fmt.Sprintf(`%s - - [%s] "%s %s HTTP/1.1" %d %s`, v.client, v.at.Format(clf), v.method, target, v.status, size)
}

func combined(v visit, target string) string {
	return common(v, target) + fmt.Sprintf(` "https://%s/" "%s"`, v.host, agent)
}

var webKinds = []webKind{
	// Apache, "Log Files": LogFormat "%h %l %u %t \"%r\" %>s %b" common.
	{"apache-common.log", "", func(v visit) string { return common(v, v.target()) }},
	// nginx, ngx_http_log_module: the predefined format combined, which writes 0 for an empty body.
	{"nginx-access.log", "", func(v visit) string {
		return strings.Replace(combined(v, v.target()), " - \"h", " 0 \"h",
			1)
	}},
	// Apache on Debian: LogFormat "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" vhost_combined.
	{"apache-vhosts.log", "", func(v visit) string { return v.host + ":443 " + combined(v, v.target()) }},
	// Microsoft, "W3C Logging": the fields that IIS logs unless told otherwise, and the bytes.
	{"iis-u_ex260301.log", "#Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n" +
		"#Date: 2026-03-01 12:00:00\n#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip " +
		"cs(User-Agent) cs(Referer) cs-host sc-status sc-substatus sc-win32-status sc-bytes time-taken\n",
		func(v visit) string {
			query := v.query
			if query == "" {
				query = "-"
			}
			return fmt.Sprintf("%s 10.0.0.5 %s %s %s 443 - %s %s - %s %d 0 0 %d 31", v.at.Format("2006-01-02 15:04:05"),
				v.method, v.path, query, v.client, strings.ReplaceAll(agent, " ", "+"), v.host, v.status, v.bytes+300)
		}},
	// AWS, "Standard logging (legacy) reference" of CloudFront.
	{"cloudfront-E2EXAMPLE.2026-03-01-12.log", "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip " +
		"cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type " +
		"x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher " +
		"x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields c-port time-to-first-byte " +
		"x-edge-detailed-result-type sc-content-type sc-content-len sc-range-start sc-range-end\n",
		func(v visit) string {
			result := v.verdict("Hit", "Miss")
			if v.status >= 400 {
				result = "Error"
			}
			return strings.Join([]string{v.at.Format("2006-01-02"), v.at.Format("15:04:05"), "FRA56-P1",
				fmt.Sprint(v.bytes + 400), v.client, v.method, "d111111abcdef8.cloudfront.net", v.path, fmt.Sprint(v.status), "-",
				strings.ReplaceAll(agent, " ", "%20"), cmp.Or(v.query, "-"), "-", result,
				"SOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ==", v.host, "https", "23", "0.001", "-", "TLSv1.3",
				"TLS_AES_128_GCM_SHA256", result, "HTTP/2.0", "-", "-", "11040", "0.001", result, "image/jpeg",
				fmt.Sprint(v.bytes), "-", "-"}, "\t")
		}},
	// AWS, "Access logs for your Application Load Balancer".
	{"alb.log", "", func(v visit) string {
		return fmt.Sprintf("https %s app/my-loadbalancer/50dc6c495c0c9188 %s:2817 10.0.0.1:80 0.001 0.048 0.037 %d %d 0 %d "+
			`"%s https://%s:443%s HTTP/1.1" "%s" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:`+
			`us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337281-1d84f3d73c47ec4e58577259" "%s" `+
			`"arn:aws:acm:us-east-2:123456789012:certificate/12345678-1234-1234-1234-123456789012" 1 %s "forward" "-" "-" `+
			`"10.0.0.1:80" "%d" "-" "-" TID_dc57cebed65b444ebc8177bb698fe166`, v.at.Format("2006-01-02T15:04:05.000000Z"),
			v.client, v.status, v.status, v.bytes, v.method, v.host, v.target(), agent, v.host,
			v.at.Format("2006-01-02T15:04:05.000000Z"), v.status)
	}},
	// AWS, "Amazon S3 server access log format".
	{"s3-2026-03-01-12-21-00-7C3EXAMPLE", "", func(v visit) string {
		operation := map[string]string{"GET": "REST.GET.OBJECT", "POST": "REST.POST.UPLOAD",
			"DELETE": "REST.DELETE.OBJECT"}[v.method]
		key := strings.TrimPrefix(v.path, "/")
		fault := "-"
		if v.status == 404 {
			fault = "NoSuchKey"
		}
		return fmt.Sprintf("79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be amzn-s3-demo-bucket1 [%s] %s - "+
			`3E57427F33A59F07 %s %s "%s /amzn-s3-demo-bucket1/%s HTTP/1.1" %d %s %d %d 7 6 "-" "S3Console/0.4" - `+
			"s9lzHYrFp76ZVxRcpX9+5cjAnEH2ROuNkd2BHfIa6UkFVdtjf5mKR3/eTPFvsiP/XV/VLi31234= SigV4 "+
			"ECDHE-RSA-AES128-GCM-SHA256 AuthHeader amzn-s3-demo-bucket1.s3.us-west-1.amazonaws.com TLSv1.2 - -",
			v.at.Format(clf), v.client, operation, key, v.method, key, v.status, fault, v.bytes, v.bytes)
	}},
	// Squid, "Squid Log Files": the native format.
	{"squid-access.log", "", func(v visit) string {
		result := v.verdict("TCP_HIT", "TCP_MISS")
		if v.status == 304 {
			result = "TCP_REFRESH_UNMODIFIED"
		}
		return fmt.Sprintf("%d.%03d %6d %s %s/%d %d %s http://%s%s - HIER_DIRECT/192.0.2.1 image/jpeg", v.at.Unix(),
			v.at.Nanosecond()/1e6, 110, v.client, result, v.status, v.bytes+350, v.method, v.host, v.target())
	}},
	// varnishncsa(1): the default format, combined with the host in the URL.
	{"varnishncsa.log", "", func(v visit) string { return combined(v, "http://"+v.host+v.target()) }},
	// HAProxy Configuration Manual, 8.2.3: option httplog, through syslog.
	{"haproxy.log", "", func(v visit) string {
		return fmt.Sprintf(`%s lb1 haproxy[14389]: %s:33317 [%s] http-in static/srv1 10/0/30/69/109 %d %d - - ---- `+
			`1/1/1/1/0 0/0 "%s %s HTTP/1.1"`, v.at.Format("Jan _2 15:04:05"), v.client,
			v.at.Format("02/Jan/2006:15:04:05.000"), v.status, v.bytes+250, v.method, v.target())
	}},
	// Envoy, "Access logging": the default format.
	{"envoy-access.log", "", func(v visit) string {
		return fmt.Sprintf(`[%s] "%s %s HTTP/1.1" %d - 0 %d 226 100 "%s" "%s" "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2" "%s" `+
			`"10.0.2.1:80"`, v.at.Format("2006-01-02T15:04:05.000Z"), v.method, v.target(), v.status, v.bytes, v.client, agent,
			v.host)
	}},
	// Traefik, "Access Logs": the Traefik common log format.
	{"traefik-access.log", "", func(v visit) string {
		return fmt.Sprintf(`%s - - [%s] "%s %s HTTP/2.0" %d %d "-" "-" 17 "web@docker" "http://10.0.0.2:80" 12ms`, v.client,
			v.at.Format(clf), v.method, v.target(), v.status, v.bytes)
	}},
	// Traefik, "Access Logs": format json.
	{"traefik-access.json", "", func(v visit) string {
		return fmt.Sprintf(`{"ClientAddr":"%s:40000","ClientHost":"%s","ClientPort":"40000","ClientUsername":"-",`+
			`"DownstreamContentSize":%d,"DownstreamStatus":%d,"Duration":1200000,"OriginContentSize":%d,`+
			`"OriginDuration":1100000,"OriginStatus":%d,"Overhead":100000,"RequestAddr":"%s","RequestContentSize":0,`+
			`"RequestCount":17,"RequestHost":"%s","RequestMethod":"%s","RequestPath":"%s","RequestPort":"-",`+
			`"RequestProtocol":"HTTP/2.0","RequestScheme":"https","RetryAttempts":0,"RouterName":"web@docker",`+
			`"ServiceName":"web@docker","StartLocal":"%s","StartUTC":"%s","entryPointName":"websecure","level":"info",`+
			`"msg":"","time":"%s"}`, v.client, v.client, v.bytes, v.status, v.bytes, v.status, v.host, v.host, v.method,
			v.target(), v.at.Format("2006-01-02T15:04:05.000000000Z"), v.at.Format("2006-01-02T15:04:05.000000000Z"),
			v.at.Format("2006-01-02T15:04:05Z"))
	}},
	// Caddy, "log": the entries of access logs.
	{"caddy-access.log", "", func(v visit) string {
		return fmt.Sprintf(`{"level":"info","ts":%d.%03d,"logger":"http.log.access","msg":"handled request","request":`+
			`{"remote_ip":"%s","remote_port":"41342","client_ip":"%s","proto":"HTTP/2.0","method":"%s","host":"%s",`+
			`"uri":"%s","headers":{"User-Agent":["%s"],"Accept":["*/*"]}},"bytes_read":0,"user_id":"","duration":0.0009,`+
			`"size":%d,"status":%d,"resp_headers":{"Server":["Caddy"],"Content-Type":["image/jpeg"]}}`, v.at.Unix(),
			v.at.Nanosecond()/1e6, v.client, v.client, v.method, v.host, v.target(), agent, v.bytes, v.status)
	}},
	// Cloudflare, "HTTP requests" of Logpush.
	{"cloudflare-20260301T120000Z.log", "", func(v visit) string {
		return fmt.Sprintf(`{"CacheCacheStatus":"%s","ClientIP":"%s","ClientRequestHost":"%s","ClientRequestMethod":"%s",`+
			`"ClientRequestURI":"%s","EdgeEndTimestamp":"%s","EdgeResponseBytes":%d,"EdgeResponseStatus":%d,`+
			`"EdgeStartTimestamp":"%s","RayID":"3a6050bcbe121a87"}`, v.verdict("hit", "miss"), v.client, v.host, v.method,
			v.target(), v.at.Format("2006-01-02T15:04:05Z"), v.bytes+300, v.status, v.at.Format("2006-01-02T15:04:05Z"))
	}},
	// Fastly, "Useful log formats": the JSON of its examples.
	// AWS, "Standard logging reference" of CloudFront: output format JSON of standard logging (v2).
	{"cloudfront-v2.json", "", func(v visit) string {
		return fmt.Sprintf(`{"date":"%s","time":"%s","x-edge-location":"FRA56-P1","sc-bytes":"%d","c-ip":"%s",`+
			`"cs-method":"%s","cs(Host)":"d111111abcdef8.cloudfront.net","cs-uri-stem":"%s","sc-status":"%d",`+
			`"cs(Referer)":"-","cs(User-Agent)":"%s","cs-uri-query":"%s","x-edge-result-type":"%s","x-host-header":"%s",`+
			`"cs-protocol":"https"}`, v.at.Format(time.DateOnly), v.at.Format(time.TimeOnly), v.bytes+400, v.client, v.method,
			v.path, v.status, agent, cmp.Or(v.query, "-"), v.verdict("Hit", "Miss"), v.host)
	}},
	{"fastly.log", "", func(v visit) string {
		return fmt.Sprintf(`{"timestamp":"%s","client_ip":"%s","geo_country":"germany","geo_city":"frankfurt","host":"%s",`+
			`"url":"%s","request_method":"%s","request_protocol":"HTTP/2","request_referer":"","request_user_agent":"%s",`+
			`"response_state":"%s","response_status":%d,"response_reason":"OK","response_body_size":%d,`+
			`"fastly_server":"cache-fra-etou8220099-FRA","fastly_is_edge":true}`, v.at.Format("2006-01-02T15:04:05-0700"),
			v.client, v.host, v.target(), v.method, agent, v.verdict("HIT-CLUSTER", "MISS"), v.status, v.bytes)
	}},
	// Google Cloud, "Logging and monitoring" of Cloud CDN: LogEntry with httpRequest.
	{"google-cloud-cdn.json", "", func(v visit) string {
		return fmt.Sprintf(`{"httpRequest":{"cacheHit":%t,"cacheLookup":true,"latency":"0.012s","remoteIp":"%s",`+
			`"requestMethod":"%s","requestSize":"180","requestUrl":"https://%s%s","responseSize":"%d","status":%d,`+
			`"userAgent":"%s"},"insertId":"1abc","jsonPayload":{"statusDetails":"%s"},`+
			`"logName":"projects/example/logs/requests","resource":{"labels":{"project_id":"example"},`+
			`"type":"http_load_balancer"},"severity":"INFO","timestamp":"%s"}`, v.hit, v.client, v.method, v.host, v.target(),
			v.bytes, v.status, agent, v.verdict("response_from_cache", "response_sent_by_backend"),
			v.at.Format("2006-01-02T15:04:05.000000Z"))
	}},
	// Microsoft, "Monitor metrics and logs in Azure Front Door": AccessLog.
	{"azure-front-door.json", "", func(v visit) string {
		return fmt.Sprintf(`{"time":"%s","resourceId":"/SUBSCRIPTIONS/0/PROFILES/EXAMPLE","category":"FrontDoorAccessLog",`+
			`"operationName":"Microsoft.Cdn/Profiles/AccessLog/Write","properties":{"trackingReference":"0abc",`+
			`"httpMethod":"%s","httpVersion":"2.0","requestUri":"https://%s:443%s","sni":"%s","requestBytes":"300",`+
			`"responseBytes":"%d","userAgent":"%s","clientIp":"%s","socketIp":"%s","clientPort":"40000",`+
			`"timeToFirstByte":"0.010","timeTaken":"0.012","requestProtocol":"HTTPS","securityProtocol":"TLS 1.3",`+
			`"httpStatusCode":"%d","pop":"FRA","cacheStatus":"%s","errorInfo":"NoError","result":"NoError",`+
			`"endpoint":"example.z01.azurefd.net"}}`, v.at.Format("2006-01-02T15:04:05.0000000Z"), v.method, v.host, v.target(),
			v.host, v.bytes, agent, v.client, v.client, v.status, v.verdict("HIT", "MISS"))
	}},
	// nginx, log_format with escape=json, as it is often written.
	{"nginx-access.json", "", func(v visit) string {
		return fmt.Sprintf(`{"time_iso8601":"%s","remote_addr":"%s","host":"%s","request_method":"%s","request_uri":"%s",`+
			`"status":"%d","body_bytes_sent":"%d","request_time":"0.005","upstream_cache_status":"%s"}`,
			v.at.Format("2006-01-02T15:04:05-07:00"), v.client, v.host, v.method, v.target(), v.status, v.bytes,
			v.verdict("HIT", "MISS"))
	}},
	// Docker and Kubernetes: each line of a container's output as JSON.
	{"kubernetes-nginx.log", "", func(v visit) string {
		return fmt.Sprintf(`{"log":"%s\n","stream":"stdout","time":"%s"}`,
			strings.ReplaceAll(combined(v, v.target()), `"`, `\"`), v.at.Format("2006-01-02T15:04:05.000000000Z"))
	}},
}
