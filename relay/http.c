/* SPDX-License-Identifier: MIT */
#include "relay/http.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/err.h"
#include "common/base/options.h"
#include "relay/httptext.h"
#include "relay/outlet.h"

#ifdef HAVE_LIBCURL
#include <curl/curl.h>
#endif

#define NAME_BYTES 120

const struct driver_key http_keys[] = {
	{"user", "who the box is told that we are", "admin", false},
	{"password", "of that user", "", true},
	{"ca", "file of the CA of the box's certificate", "", false},
	{"proxy", "http://HOST:PORT, or \"environment\"", "", false},
	{"timeout", "how long to wait for an answer", "5s", false},
	{0},
};

static int take_timeout(const struct outlet *outlet, uint64_t *timeout_ms,
			struct err *err)
{
	const uint64_t max_ms = outlet->driver->answer_ms;

	if (options_parse_duration(outlet_option(outlet, "timeout"), "timeout",
				   timeout_ms, err) < 0)
		return -1;
	if (*timeout_ms < HTTP_TIMEOUT_MS_MIN || *timeout_ms > max_ms)
		return err_set(err, "timeout: it is from %u to %llu ms",
			       HTTP_TIMEOUT_MS_MIN, (unsigned long long)max_ms);
	return 0;
}

static int check_proxy(const char *proxy, struct err *err)
{
	if (*proxy == '\0' || strcmp(proxy, "environment") == 0)
		return 0;
	if (strchr(proxy, '@') != NULL || strstr(proxy, "://") == NULL)
		return err_set(err, "proxy: it is http://HOST:PORT, without a "
				    "user, or \"environment\"");
	return 0;
}

int http_check(const struct outlet *outlet, struct err *err)
{
	const char *ca = outlet_option(outlet, "ca");
	uint64_t timeout_ms = 0;

	if (httptext_check_address(outlet->address, err) < 0 ||
	    check_proxy(outlet_option(outlet, "proxy"), err) < 0)
		return -1;
	if (*ca != '\0' && *ca != '/')
		return err_set(err, "ca: \"%.200s\" is not an absolute path",
			       ca);
	if (strchr(outlet_option(outlet, "user"), ':') != NULL)
		return err_set(err, "user: it cannot hold a colon");
	return take_timeout(outlet, &timeout_ms, err);
}

int http_ask(struct port *port, const struct outlet *outlet,
	     const struct http_request *request, struct http_reply *reply,
	     uint64_t deadline_ns, struct err *err)
{
	struct http *http = (struct http *)(void *)port; /* its first member */
	uint64_t timeout_ms = 0, until_ns = 0;
	int rc = take_timeout(outlet, &timeout_ms, err);

	if (rc < 0)
		return -1;
	until_ns = clock_monotonic_ns() + timeout_ms * CLOCK_NS_PER_MS;
	rc = http->ask(http, request, reply,
		       until_ns < deadline_ns ? until_ns : deadline_ns, err);
	if (rc == 1 && httptext_check_status(request, reply, err) < 0)
		return -1;
	return rc;
}

int http_tell(struct port *port, const struct outlet *outlet,
	      const struct http_request *request, struct http_reply *reply,
	      uint64_t deadline_ns, struct err *err)
{
	int rc = http_ask(port, outlet, request, reply, deadline_ns, err);
	char name[NAME_BYTES];

	if (rc == 0) {
		httptext_name(request, name, sizeof(name));
		return err_set(err, "%s: the box does not answer in time",
			       name);
	}
	return rc < 0 ? -1 : 0;
}

#ifndef HAVE_LIBCURL

struct port *http_open(const struct outlet *outlet, enum http_auth auth,
		       const char *header, struct err *err)
{
	(void)auth; /* of a request, and there is none */
	(void)header;
	(void)err_set(err,
		      "cannot reach %s: this plugpull-relay was built without "
		      "libcurl",
		      outlet->address);
	return NULL;
}

#else

struct http_curl {
	struct http http;
	CURL *curl;
	char address[OUTLET_ADDRESS_BYTES]; /* without a slash at its end */
	char *header;                       /* of each request, or NULL */
	/* Of the request that is under way. */
	char url[OUTLET_ADDRESS_BYTES + HTTPTEXT_BYTES];
	char failure[CURL_ERROR_SIZE];
	size_t header_bytes, count;
	char text[HTTP_REPLY_BYTES_MAX + 1];
};

static struct http_curl *curl_of(struct http *http)
{
	return (struct http_curl *)(void *)http; /* its first member */
}

/* ---- what libcurl gives us ---- */

/* A return of less than it was given ends the transfer. */
static size_t take_header(char *bytes, size_t size, size_t count,
			  void *argument)
{
	struct http_curl *self = argument;

	(void)bytes; /* only counted: nothing in it is needed */
	(void)size;  /* is 1 */
	self->header_bytes += count;
	return self->header_bytes <= HTTP_REPLY_BYTES_MAX ? count : 0;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *argument)
{
	struct http_curl *self = argument;

	(void)size; /* is 1 */
	if (count > HTTP_REPLY_BYTES_MAX - self->count)
		return 0;
	memcpy(self->text + self->count, bytes, count);
	self->count += count;
	return count;
}

/* ---- setting up ---- */

static bool set_long(CURL *curl, CURLoption option, long value)
{
	return curl_easy_setopt(curl, option, value) == CURLE_OK;
}

static bool set_text(CURL *curl, CURLoption option, const char *value)
{
	return curl_easy_setopt(curl, option, value) == CURLE_OK;
}

/* Only what is not so anyway, or has not always been. */
static bool set_manners(struct http_curl *self)
{
	CURL *curl = self->curl;

	return set_long(curl, CURLOPT_NOSIGNAL, 1) &&
	       set_long(curl, CURLOPT_FOLLOWLOCATION, 0) &&
	       set_long(curl, CURLOPT_NETRC, CURL_NETRC_IGNORED) &&
	       set_long(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) &&
#if LIBCURL_VERSION_NUM >= 0x074000
	       set_long(curl, CURLOPT_HTTP09_ALLOWED, 0) &&
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
	       /* A name server that is silent holds nobody up at the end. */
	       set_long(curl, CURLOPT_QUICK_EXIT, 1) &&
#endif
	       set_long(curl, CURLOPT_PATH_AS_IS, 1) &&
	       set_long(curl, CURLOPT_SSL_VERIFYPEER, 1) &&
	       set_long(curl, CURLOPT_SSL_VERIFYHOST, 2) &&
	       curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, self->failure) ==
		       CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header) ==
		       CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_HEADERDATA, self) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body) ==
		       CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_WRITEDATA, self) == CURLE_OK;
}

/* With a CA of its own no other one speaks for the box. */
static bool set_way(struct http_curl *self, const struct outlet *outlet)
{
	const char *proxy = outlet_option(outlet, "proxy");
	const char *ca = outlet_option(outlet, "ca");
	bool is_set = true;

	if (strcmp(proxy, "environment") != 0)
		is_set = set_text(self->curl, CURLOPT_PROXY, proxy) &&
			 set_text(self->curl, CURLOPT_NOPROXY, "");
	if (*ca != '\0')
		is_set = is_set && set_text(self->curl, CURLOPT_CAINFO, ca) &&
			 set_text(self->curl, CURLOPT_CAPATH, NULL);
	return is_set;
}

static int set_login(struct http_curl *self, const struct outlet *outlet,
		     enum http_auth auth, struct err *err)
{
	static const unsigned long ways[] = {
		[HTTP_AUTH_BASIC] = CURLAUTH_BASIC,
		[HTTP_AUTH_DIGEST] = CURLAUTH_DIGEST,
		[HTTP_AUTH_ANY] = CURLAUTH_BASIC | CURLAUTH_DIGEST,
	};
	char secret[OUTLET_SECRET_BYTES];
	int rc = outlet_secret(outlet, "password", secret, err);

	if (rc == 0 && *secret != '\0' &&
	    (!set_long(self->curl, CURLOPT_HTTPAUTH, (long)ways[auth]) ||
	     !set_text(self->curl, CURLOPT_USERNAME,
		       outlet_option(outlet, "user")) ||
	     !set_text(self->curl, CURLOPT_PASSWORD, secret)))
		rc = err_set(err, "libcurl does not take the password");
	explicit_bzero(secret, sizeof(secret));
	return rc;
}

/* ---- one request ---- */

static bool set_method(struct http_curl *self,
		       const struct http_request *request)
{
	const char *body = request->body == NULL ? "" : request->body;
	CURL *curl = self->curl;

	if (!set_text(curl, CURLOPT_CUSTOMREQUEST, NULL))
		return false;
	if (strcmp(request->method, "GET") == 0)
		return set_long(curl, CURLOPT_HTTPGET, 1);
	return set_long(curl, CURLOPT_POST, 1) &&
	       set_text(curl, CURLOPT_POSTFIELDS, body) &&
	       set_long(curl, CURLOPT_POSTFIELDSIZE, (long)strlen(body)) &&
	       (strcmp(request->method, "POST") == 0 ||
		set_text(curl, CURLOPT_CUSTOMREQUEST, request->method));
}

static bool append(struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*list, line);

	if (longer != NULL)
		*list = longer;
	return longer != NULL;
}

static void wipe_headers(struct curl_slist *list)
{
	for (struct curl_slist *at = list; at != NULL; at = at->next)
		explicit_bzero(at->data, strlen(at->data));
	curl_slist_free_all(list);
}

/* No "Expect: 100-continue": small boxes do not know it and wait. */
static struct curl_slist *make_headers(const struct http_curl *self,
				       const struct http_request *request)
{
	struct curl_slist *list = NULL;
	char type[HTTPTEXT_BYTES];

	(void)snprintf(type, sizeof(type), "Content-Type: %s",
		       request->type == NULL ? "application/json"
					     : request->type);
	if (append(&list, "Expect:") &&
	    (request->body == NULL || append(&list, type)) &&
	    (self->header == NULL || append(&list, self->header)))
		return list;
	wipe_headers(list);
	return NULL;
}

static bool has_passed(const struct http_curl *self, CURLINFO moment)
{
	curl_off_t after_us = 0;

	return curl_easy_getinfo(self->curl, moment, &after_us) == CURLE_OK &&
	       after_us > 0;
}

/* 0: it took the request, and not a byte came back. */
static int judge_failure(const struct http_curl *self,
			 const struct http_request *request, CURLcode code,
			 struct err *err)
{
	const char *why = self->failure;
	char name[NAME_BYTES];

	if (code == CURLE_OPERATION_TIMEDOUT && self->header_bytes == 0 &&
	    has_passed(self, CURLINFO_PRETRANSFER_TIME_T) &&
	    !has_passed(self, CURLINFO_STARTTRANSFER_TIME_T))
		return 0;
	httptext_name(request, name, sizeof(name));
	if (code == CURLE_WRITE_ERROR)
		return err_set(err, "%s: the answer is longer than %u bytes",
			       name, HTTP_REPLY_BYTES_MAX);
	(void)err_set(err, "%s: %.300s", name,
		      *why == '\0' ? curl_easy_strerror(code) : why);
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		return err_hint(err, "the key ca names the CA of the box");
	return -1;
}

static int perform(struct http_curl *self, const struct http_request *request,
		   struct http_reply *reply, struct err *err)
{
	CURLcode code = CURLE_OK;

	self->failure[0] = '\0';
	self->header_bytes = 0;
	self->count = 0;
	code = curl_easy_perform(self->curl);
	if (code != CURLE_OK)
		return judge_failure(self, request, code, err);
	self->text[self->count] = '\0';
	*reply = (struct http_reply){.text = self->text, .count = self->count};
	if (curl_easy_getinfo(self->curl, CURLINFO_RESPONSE_CODE,
			      &reply->status) != CURLE_OK)
		return err_set(err, "libcurl tells no HTTP status");
	return 1;
}

static int ask_curl(struct http *http, const struct http_request *request,
		    struct http_reply *reply, uint64_t deadline_ns,
		    struct err *err)
{
	struct http_curl *self = curl_of(http);
	const int left_ms = clock_until_ms(deadline_ns);
	struct curl_slist *headers = NULL;
	int rc = 0;

	if (left_ms == 0) /* which libcurl would take for "no limit" */
		return err_set(err, "no time is left for a request");
	(void)snprintf(self->url, sizeof(self->url), "%s%s", self->address,
		       request->path);
	headers = make_headers(self, request);
	if (headers == NULL || !set_method(self, request) ||
	    !set_text(self->curl, CURLOPT_URL, self->url) ||
	    !set_long(self->curl, CURLOPT_TIMEOUT_MS, left_ms) ||
	    !set_long(self->curl, CURLOPT_FRESH_CONNECT, request->is_once) ||
	    curl_easy_setopt(self->curl, CURLOPT_HTTPHEADER, headers) !=
		    CURLE_OK)
		rc = err_set(err, "libcurl does not take the request");
	else
		rc = perform(self, request, reply, err);
	/* It must not outlive us there; nothing is asked before it is anew. */
	(void)curl_easy_setopt(self->curl, CURLOPT_HTTPHEADER, NULL);
	wipe_headers(headers);
	return rc;
}

/* ---- the port ---- */

static void close_curl(struct port *port)
{
	struct http_curl *self = curl_of((struct http *)(void *)port);

	curl_easy_cleanup(self->curl);
	if (self->header != NULL)
		explicit_bzero(self->header, strlen(self->header));
	free(self->header);
	free(self);
}

/* Only close() is called of it: driver.h, open(). */
static const struct port_ops curl_ops = {.close = close_curl};

static void start_libcurl(void)
{
	/* Where it fails, so does curl_easy_init(). */
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

static struct http_curl *new_curl(const struct outlet *outlet,
				  const char *header, struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct http_curl *self = calloc(1, sizeof(*self));
	size_t length = strlen(outlet->address);

	if (self == NULL || pthread_once(&once, start_libcurl) != 0)
		goto fail;
	self->curl = curl_easy_init();
	if (header != NULL)
		self->header = strdup(header);
	if (self->curl == NULL || (header != NULL && self->header == NULL))
		goto fail;
	while (length > 0 && outlet->address[length - 1] == '/')
		length--;
	memcpy(self->address, outlet->address, length);
	self->http.port.ops = &curl_ops;
	self->http.ask = ask_curl;
	return self;
fail:
	(void)err_set(err, "cannot reach %s: no memory", outlet->address);
	if (self != NULL)
		close_curl(&self->http.port);
	return NULL;
}

struct port *http_open(const struct outlet *outlet, enum http_auth auth,
		       const char *header, struct err *err)
{
	struct http_curl *self = new_curl(outlet, header, err);

	if (self == NULL)
		return NULL;
	if (!set_manners(self) || !set_way(self, outlet)) {
		(void)err_set(err, "cannot reach %s: this libcurl is too old",
			      outlet->address);
		goto fail;
	}
	if (set_login(self, outlet, auth, err) < 0)
		goto fail;
	return &self->http.port;
fail:
	close_curl(&self->http.port);
	return NULL;
}

#endif
