/* SPDX-License-Identifier: MIT */
#include "relay/httptext.h"

#include <stdio.h>
#include <string.h>

#include "common/base/err.h"
#include "relay/driver.h"
#include "relay/outlet.h"

#define QUOTE_BYTES 60
#define NAME_BYTES  120
#define CHANNEL     "{channel}"

bool httptext_is_plain(const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text <= ' ' || *text > '~')
			return false;
	}
	return true;
}

int httptext_check_address(const char *address, struct err *err)
{
	const char *host = strstr(address, "://");

	if (host == NULL || host[3] == '\0' || host[3] == '/' || host[3] == ':')
		return err_set(err, "address: \"%.200s\" names no host",
			       address);
	if (strchr(address, '@') != NULL)
		return err_set(err, "address: a user or a password cannot be "
				    "given in it; there are keys for them");
	if (!httptext_is_plain(address) || strpbrk(address, "?#\\") != NULL)
		return err_set(err,
			       "address: \"%.200s\" is not http://HOST or "
			       "http://HOST:PORT, or https",
			       address);
	return 0;
}

int httptext_encode(const char *text, char *to, size_t room, struct err *err)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~";
	size_t used = strlen(to);

	for (; *text != '\0'; text++) {
		const bool is_plain = strchr(plain, *text) != NULL;
		const size_t needs = is_plain ? 1 : 3;

		if (used + needs >= room)
			return err_set(err, "a request longer than %zu bytes",
				       room - 1);
		(void)snprintf(to + used, room - used,
			       is_plain ? "%c" : "%%%02X",
			       (unsigned char)*text);
		used += needs;
	}
	return 0;
}

/* LENGTH bytes of TEXT, with {channel} replaced. */
static int fill(const char *text, size_t length, unsigned int channel, char *to,
		size_t room, struct err *err)
{
	const size_t mark = strlen(CHANNEL);
	char number[12];
	size_t used = 0;

	(void)snprintf(number, sizeof(number), "%u", channel);
	for (size_t i = 0; i < length;) {
		const bool is_mark = length - i >= mark &&
				     strncmp(text + i, CHANNEL, mark) == 0;
		const size_t needs = is_mark ? strlen(number) : 1;

		if (used + needs >= room)
			return err_set(err, "longer than %zu bytes", room - 1);
		memcpy(to + used, is_mark ? number : text + i, needs);
		used += needs;
		i += is_mark ? mark : 1;
	}
	to[used] = '\0';
	return 0;
}

static int check_method(const char *method, bool has_body, struct err *err)
{
	static const char *const words[] = {"GET", "POST", "PUT", "PATCH"};
	size_t i = 0;

	while (i < sizeof(words) / sizeof(words[0]) &&
	       strcmp(words[i], method) != 0)
		i++;
	if (i == sizeof(words) / sizeof(words[0]))
		return err_set(err,
			       "the method is not GET, POST, PUT or PATCH");
	return i == 0 && has_body ? err_set(err, "GET has no body") : 0;
}

int httptext_make(const char *template, unsigned int channel,
		  struct httptext_made *made, struct err *err)
{
	const size_t method = strcspn(template, " ");
	const char *path = template + method + strspn(template + method, " ");
	const size_t length = strcspn(path, " ");
	const char *body = path + length + strspn(path + length, " ");

	memset(made, 0, sizeof(*made));
	(void)snprintf(made->method, sizeof(made->method), "%.*s",
		       method < sizeof(made->method) ? (int)method : 0,
		       template);
	if (check_method(made->method, *body != '\0', err) < 0 ||
	    fill(path, length, channel, made->path, sizeof(made->path), err) <
		    0 ||
	    fill(body, strlen(body), channel, made->body, sizeof(made->body),
		 err) < 0)
		return -1;
	if (made->path[0] != '/' || strchr(made->path, '#') != NULL ||
	    !httptext_is_plain(made->path))
		return err_set(err, "it is not \"METHOD /PATH [BODY]\"");
	return 0;
}

void httptext_name(const struct http_request *request, char *text, size_t room)
{
	(void)snprintf(text, room, "%s %.*s", request->method,
		       (int)strcspn(request->path, "?"), request->path);
}

int httptext_check_status(const struct http_request *request,
			  const struct http_reply *reply, struct err *err)
{
	const long expected = request->status == 0 ? 200 : request->status;
	char name[NAME_BYTES];

	if (reply->status == expected)
		return 0;
	httptext_name(request, name, sizeof(name));
	if (reply->status == 401 || reply->status == 403)
		return err_set(err,
			       "%s: the box lets us not in (HTTP status %ld)"
			       "\nhint: see the keys user and password",
			       name, reply->status);
	if (reply->status >= 300 && reply->status < 400)
		return err_set(err,
			       "%s: the box sends us elsewhere (HTTP status "
			       "%ld), and a command is not sent on",
			       name, reply->status);
	return err_set(err, "%s: HTTP status %ld, and %ld is expected", name,
		       reply->status, expected);
}

static bool has_secret(const struct outlet *outlet)
{
	const struct driver_key *key = outlet->driver->keys;

	for (; key != NULL && key->name != NULL; key++) {
		if (key->is_secret && *outlet_option(outlet, key->name) != '\0')
			return true;
	}
	return false;
}

int httptext_refuse(const struct outlet *outlet,
		    const struct http_request *request,
		    const struct http_reply *reply, const char *why,
		    struct err *err)
{
	char name[NAME_BYTES], quote[QUOTE_BYTES + 1] = "";
	const size_t count =
		reply->count < QUOTE_BYTES ? reply->count : QUOTE_BYTES;

	httptext_name(request, name, sizeof(name));
	if (has_secret(outlet))
		return err_set(err, "%s: %s", name, why);
	for (size_t i = 0; i < count; i++) {
		const char byte = reply->text[i];

		quote[i] = byte < ' ' || byte > '~' ? '.' : byte;
	}
	return err_set(err, "%s: %s: \"%s\"%s", name, why, quote,
		       reply->count > count ? "..." : "");
}

json_t *httptext_json(const struct outlet *outlet,
		      const struct http_request *request,
		      const struct http_reply *reply, struct err *err)
{
	json_t *json = json_loadb(reply->text, reply->count, 0, NULL);

	if (json_is_object(json))
		return json;
	json_decref(json);
	(void)httptext_refuse(outlet, request, reply,
			      "the answer is no JSON object", err);
	return NULL;
}
