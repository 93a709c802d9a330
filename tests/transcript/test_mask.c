/* SPDX-License-Identifier: MIT */
/* Masking: which texts are secrets and which only look like some, whole records, hostile input. The secrets
 * here are made up, and written in two pieces so that no scanner of repositories takes them for real ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "base/arena.h"
#include "base/limits.h"
#include "support/failure.h"
#include "transcript/mask.h"
#include "transcript/message.h"

static char *masked(const char *text, size_t len, size_t *ret_count)
{
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);
	assert_int_equal(mask_text((struct slice){text, len}, &out, ret_count), 0);
	char *copy = strndup(out.data ? out.data : "", out.len);
	buffer_release(&out);
	return copy;
}

/* ---- What is masked --------------------------------------------------------------------------------------
 */

#define HEX32                                                                                                \
	"0123456789abcdef"                                                                                   \
	"fedcba9876543210"
#define A36                                                                                                  \
	"16C7e42F292c6912E7710c838347"                                                                       \
	"Ae178B4a"

static const struct {
	const char *before, *secret, *after, *kind;
} SECRETS[] = {
	{"use ",
		"sk-ant-"
		"api03-aB3dE5gH7jK9mN1pQ3sT5vX7zA9-cD_eF",
		" now", "anthropic api key"},
	{"key: ",
		"sk-proj-"
		"aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD_eF-gH2",
		"", "openai api key"},
	{"OPENAI_API_KEY=",
		"sk-"
		"aB3dE5gH7jK9mN1pQ3sT3BlbkFJvX7zA9cD2eF4gH6jK8",
		"\n", "openai api key"},
	{"(", "sk-or-v1-" HEX32 HEX32, ")", "openrouter api key"},
	{"?key=",
		"AIza"
		"SyB3dE5gH7jK9mN1pQ3sT5vX7zA9cD2eF4g",
		"&x=1", "google api key"},
	{"",
		"ya29."
		"a0AfH6SMBx3dE5gH7jK9mN1pQ3sT5",
		"", "google access token"},
	{"id ",
		"AKIA"
		"IOSFODNN7EXAMPLE",
		".", "aws access key"},
	{"aws_secret_access_key = ",
		"wJalrXUtnFEMI/K7MDENG/"
		"bPxRfiCYEXAMPLEKEY",
		"\n", "aws secret key"},
	{"\"SecretAccessKey\": \"",
		"wJalrXUtnFEMI/K7MDENG/"
		"bPxRfiCYEXAMPLEKEY",
		"\",", "aws secret key"},
	{"token ", "ghp_" A36, ",", "github token"},
	{"", "gho_" A36, "", "github token"},
	{"https://x:", "ghs_" A36, "@github.com/o/r", "url password"},
	{"",
		"github_pat_"
		"11ABCDEFG0aB3dE5gH7jK9_mN1pQ3sT5vX7zA9cD2eF4",
		"", "github token"},
	{"'",
		"glpat-"
		"aB3dE5gH7jK9mN1pQ3sT",
		"'", "gitlab token"},
	{"",
		"xoxb-"
		"123456789012-1234567890123-aB3dE5gH7jK9mN1pQ3sT5vX7",
		" ", "slack token"},
	{"curl https://hooks.slack.com/services/",
		"T01234567/B01234567/"
		"aB3dE5gH7jK9mN1pQ3sT5vX7",
		"", "slack webhook"},
	{"",
		"sk_live_"
		"aB3dE5gH7jK9mN1pQ3sT5vX7",
		"", "stripe key"},
	{"",
		"rk_live_"
		"aB3dE5gH7jK9mN1pQ3sT5vX7",
		"", "stripe key"},
	{"//registry.npmjs.org/:_authToken=",
		"npm_"
		"aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD2eF4gH6",
		"\n", "npm token"},
	{"",
		"pypi-AgE"
		"IcHlwaS5vcmcCJDNkRTVnSDdqSzltTjFwUTNzVDV2WDd6QTk",
		"", "pypi token"},
	{"login(\"",
		"hf_"
		"aBcDeFgHiJkLmNoPqRsTuVwXyZ01234567",
		"\")", "hugging face token"},
	{"",
		"SG."
		"aB3dE5gH7jK9mN1pQ3sT5v.X7zA9cD2eF4gH6jK8mN0pQ2sT4vX6zA8cD1eF3gH5jK",
		"", "sendgrid api key"},
	{"twilio ", "SK" HEX32, " ", "twilio api key"},
	{"https://api.telegram.org/bot",
		"110201543:"
		"AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawQ",
		"/getMe", "telegram bot token"},
	{"",
		"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
		"eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
		"", "json web token"},
	{"Authorization: Bearer ",
		"aB3dE5gH7jK9"
		"mN1pQ3sT5vX7zA9",
		"\r\n", "authorization"},
	{"-H 'Authorization: Basic ",
		"dXNlcjpwYXNz"
		"d29yZA==",
		"'", "authorization"},
	{"\"authorization\":\"token ",
		"aB3dE5gH7jK9"
		"mN1p",
		"\"", "authorization"},
	{"Bearer ",
		"aB3dE5gH7jK9"
		"mN1pQ3sT5vX7",
		" was sent", "authorization"},
	{"Cookie: ",
		"session=aB3dE5gH7jK9; csrf"
		"token=mN1pQ3sT",
		"\nHost: a", "cookie"},
	{"Set-Cookie: sid=",
		"aB3dE5gH7jK9"
		"mN1p",
		"; Path=/; HttpOnly", "cookie"},
	{"postgres://app:",
		"s3cr3t!"
		"pass",
		"@db.internal:5432/shop", "url password"},
	{"redis://:",
		"p4ss"
		"word",
		"@cache:6379", "url password"},
	{"amqp:\\/\\/app:",
		"hunter2"
		"hunter2",
		"@mq", "url password"},
	{"DB_PASSWORD=",
		"hunter2"
		"hunter2",
		"\n", "password"},
	{"DB_PASSWORD=", "hunter2", "", "password"},
	{"password: ",
		"Tr0ub4"
		"dor3xyz",
		"\n", "password"},
	{"\"password\": \"",
		"Tr0ub4dor"
		"&3",
		"\"", "password"},
	{"\\\"client_secret\\\": \\\"",
		"aB3dE5gH7jK9"
		"mN1pQ3sT",
		"\\\"", "secret"},
	{"api_key = '",
		"0123456789ab"
		"cdef0123456789abcdef",
		"'", "secret"},
	{"x-api-key: ",
		"aB3dE5gH7jK9"
		"mN1pQ3sT",
		"\n", "secret"},
	{"config[\"secret_key\"] = \"",
		"aB3dE5gH7jK9"
		"mN1pQ3sT",
		"\"", "secret"},
	{"mysql --password ",
		"hunter2"
		"hunter2",
		" shop", "password"},
	{"curl -u admin:",
		"hunter2"
		"hunter2",
		" https://h", "password"},
	{"AccountName=a;AccountKey=",
		"aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD2eF4gH6jK8mN0pQ2sT4vX6zA8cD1eF3gH5jK7mN9pQ1sT3vX5zA7cD9eF=="
		"",
		";E=x", "azure key"},
	{"https://a.blob.core.windows.net/c?sv=2022&sig=",
		"aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD2eF4gH6%2BjK8%3D"
		"",
		"", "azure key"},
	{"", "dop_v1_" HEX32 HEX32, "", "digitalocean token"},
	/* Characters that end other values, blanks, escapes. */
	{"password: ", "Tr0ub4dor&" "3", "", "password"},
	{"password: ", "Tr0ub4dor&" "3", " for the db", "password"},
	{"PASSWORD=", "Tr0ub4dor&" "3", "\nUSER=ana", "password"},
	{"export DB_PASS=", "s3cret" "pw", "", "password"},
	{"DB_PASS='", "correct horse battery " "staple", "'", "password"},
	{"db_pass = \"", "hunter2" "hunter2", "\"", "password"},
	{"dbPass: '", "hunter2" "x", "'", "password"},
	{"password: \"", "my dog is 7 years " "old!", "\"", "password"},
	{"db_password: '", "hunter2 " "hunter2", "'", "password"},
	{"{\\\"password\\\":\\\"", "correct horse battery " "staple", "\\\"}", "password"},
	{"password: \"", "pa\\\"ss " "w0rd!", "\" # now", "password"},
	{"PASSWORD=\"", "Tr0ub4dor\\$" "3", "\"", "password"},
	{"passwd=", "Tr0ub4dor," "3", "", "password"},
	{"DB_PASSWORD=", "Sup3rS3cret" "Value!", "", "password"},
	{"DB_PASSWORD=", "Sup3rS3cret" "Value!?", " and go", "password"},
	{"password=", "hunter2super" "secret", "", "password"},
	{"user=ana password=", "hunter2super" "secret", " host=db", "password"},
	{"# local\npassword=", "summer" "2024", "\nuser=ana", "password"},
	{"Use password=", "hunter2super" "secret", ".", "password"},
	{"", "pypi-AgEIcHlw" "aS5vcmcCJDEy", "", "pypi token"},
	{"password=", "p@ss(w0rd)" "1", "", "password"},
	{"password: ", "p@ss;w0rd" "1", ", user: ana", "password"},
	{"connect(password=", "hunter2!" "x", ",timeout=5)", "password"},
	{"Server=db;Password=", "hunter2" "x", ";Database=shop", "password"},
	{"user=ana pass=", "Tr0ub4dor&" "3", "", "password"},
	{"sshpass -p '", "Tr0ub4dor&" "3", "' ssh root@h", "password"},
	{"sshpass -p ", "Tr0ub4dor" "3", " ssh root@h", "password"},
	{"mysql -u root -p", "Tr0ub4dor" "3", " shop", "password"},
	{"My password is ", "Tr0ub4dor&" "3", ".", "password"},
	{"the password is: ", "hunter" "2", "!", "password"},
	{"use the password \"", "Tr0ub4dor&" "3", "\" there", "password"},
	{"Das Passwort lautet ", "Tr0ub4dor&" "3", "", "password"},
	{"Passwort: ", "Tr0ub4dor&" "3", "", "password"},
	{"contraseña: ", "Tr0ub4dor&" "3", "", "password"},
	{"密码：", "Tr0ub4dor&" "3", "", "password"},
	{"пароль: ", "Tr0ub4dor&" "3", "", "password"},
	/* Parameters of URLs. */
	{"https://h/v1?token=", "abcd1234" "efgh", "", "secret"},
	{"https://h/v1?a=1&access_key=", "AbCd1234" "EfGh", "&y=2", "secret"},
	{"https://h/f?api_key=", "9f3c2b" "1a7d", "#top", "secret"},
	{"https://h/p?sig=", "aB3dE5" "gH7jK9", "", "azure key"},
	{"https://b.s3.amazonaws.com/k?X-Amz-Signature=", HEX32 HEX32, "&x", "secret"},
	{"https://h/p?password=", "hunter" "2", "&user=ana", "password"},
	{"https://h/p?auth=", "9f3c2b" "1a7d", "&z=1", "secret"},
	{"https://h/#access_token=", "abcd1234" "efgh", "&type=bearer", "secret"},
	{"<a href='https://h/p?x=1&amp;token=", "abcd1234" "efgh", "&amp;y'", "secret"},
	{"\"https://h/p?x=1\\u0026token=", "abcd1234" "efgh", "\"", "secret"},
	/* Names with letters written as escapes. */
	{"{\"\\u0070assword\":\"", "Tr0ub4dor&" "3", "\"}", "password"},
	{"{\\\"pass\\u0077ord\\\":\\\"", "Tr0ub4dor&" "3", "\\\"}", "password"},
	{"{\"api\\u005Fkey\":\"", "9f3c2b1a7d" "aB3dE5gH", "\"}", "secret"},
	{"",
		"hvs."
		"CAESIAaB3dE5gH7jK9mN1pQ3sT5vX7",
		"", "vault token"},
	{"",
		"gsk_"
		"aB3dE5gH7jK9mN1pQ3sT5vX7zA9cD2eF4gH6jK8mN0pQ2sT4vX6z",
		"", "groq api key"},
	{"",
		"MTk4NjIyNDgzNDcxOTI1MjQ4"
		".Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs",
		"", "discord token"},
	{"x=\"line\\n", "ghp_" A36, "\\n\"", "github token"},
	{"\x1b[31m", "ghp_" A36, "\x1b[0m", "github token"},
	{"q=%22", "ghp_" A36, "%22", "github token"},
	{"key\n",
		"-----BEGIN RSA PRIVATE "
		"KEY-----\nMIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9OiJ\nabcdefghijklmnopqrstuvwxyz012345\nAbCd=="
		"\n"
		"-----END RSA PRIVATE KEY-----",
		"\nend", "private key"},
	{"\"private_key\": \"",
		"-----BEGIN PRIVATE "
		"KEY-----\\nMIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9OiJ\\nAbCd==\\n-----END PRIVATE KEY-----"
		"",
		"\\n\"", "private key"},
	{"",
		"-----BEGIN OPENSSH PRIVATE "
		"KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtz\nc3Gt",
		"\n", "private key"},
	{"",
		"-----BEGIN RSA PRIVATE "
		"KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: "
		"AES-128-CBC,0123\n\nMIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9OiJ\n"
		"-----END RSA PRIVATE KEY-----",
		"", "private key"},
	{"",
		"-----BEGIN PGP PRIVATE "
		"KEY BLOCK-----\n\nlQOYBF0123456789abcdefABCDEFghijklmnopqrstuvwxyz\n=aB3d\n-----END PGP "
		"PRIVATE KEY BLOCK-----",
		"", "private key"},
};

static void secrets_are_replaced_by_their_kind_and_nothing_else_changes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(SECRETS) / sizeof(SECRETS[0]); i++) {
		char text[2048], wanted[2048];
		size_t count;
		snprintf(
			text, sizeof(text), "%s%s%s", SECRETS[i].before, SECRETS[i].secret, SECRETS[i].after);
		snprintf(wanted, sizeof(wanted), "%s[masked: %s]%s", SECRETS[i].before, SECRETS[i].kind,
			SECRETS[i].after);
		char *out = masked(text, strlen(text), &count);
		if (strcmp(out, wanted) != 0)
			print_error("%zu: %s\n", i, text);
		assert_string_equal(out, wanted);
		assert_int_equal(count, 1);
		char *again = masked(out, strlen(out), &count);
		assert_string_equal(again, wanted);
		assert_int_equal(count, 0);
		free(again);
		free(out);
	}
}

static void an_access_key_of_aws_takes_its_secret_along(void **state)
{
	(void)state;
	const char *text = "AKIA"
			   "IOSFODNN7EXAMPLE,wJalrXUtnFEMI/K7MDENG/"
			   "bPxRfiCYEXAMPLEKEY\n";
	size_t count;
	char *out = masked(text, strlen(text), &count);
	assert_string_equal(out, "[masked: aws access key],[masked: aws secret key]\n");
	assert_int_equal(count, 2);
	free(out);
}

/* ---- What stays ------------------------------------------------------------------------------------------
 */

static const char *const STAYS[] = {
	"commit 3f786850e387550fdab836ed7e6dc881de23001b",
	"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	"digest 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	"\"integrity\": "
	"\"sha512-iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9aw==\"",
	"id 550e8400-e29b-41d4-a716-446655440000",
	"toolu_01A09q90qw90lq917835lq9",
	"call_abc123DEF456ghi789JKL012",
	"msg_013Zva2CMHLNnjNjJKqJ2EF",
	"chatcmpl-9aB3dE5gH7jK9mN1pQ3s",
	"req_011CSHoEeqs5C35K2UUqR7Fy",
	"m12–m40",
	"org-aB3dE5gH7jK9mN1pQ3sT5vX7",
	"pip install scikit-learn sk-learn",
	"class=\"sk-estimator-doc-link sk-toggleable__content\" id=\"sk-container-id-1\"",
	"export OPENAI_API_KEY=sk-...",
	"OPENAI_API_KEY=<YOUR_KEY>",
	"OPENAI_API_KEY=sk-your-api-key-here-1234567890",
	"ANTHROPIC_API_KEY=sk-ant-xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
	"sk-ant-api03-...",
	"api_key=$OPENAI_API_KEY",
	"api_key=${KEY}",
	"api_key: {{ secrets.API_KEY }}",
	"api_key = os.environ[\"API_KEY_2024\"]",
	"const token = process.env.TOKEN2",
	"token = get_token_from_header2(request)",
	"password = self.config2.password1",
	"password=password2",
	"    password=hunter2name,",
	"connect(user, password=hunter2name )",
	"connect( password=hunter2name )",
	"password=base64decode(x)",
	"password=required",
	"pypi-AgE",
	"pypi-AgEnda",
	"password: string;",
	"password = input()",
	"Authorization: Bearer <token>",
	"Authorization: Bearer $TOKEN",
	"Authorization: Bearer ${TOKEN_2}",
	"\"Authorization\": f\"Bearer {token}\"",
	"the bearer of this letter",
	"Bearer authentication",
	"a cookie: a small file",
	"Cookie: session=<id>",
	"max_tokens=4096",
	"\"input_tokens\": 155000",
	"tokens: 12345678",
	"nextPageToken: \"CAUQAA4bC3dE5fG7\"",
	"\"next_page_token\":\"aB3dE5gH7jK9mN1pQ3sT5\"",
	"https://example.com:8080/path",
	"http://localhost:3000/a@b",
	"git@github.com:owner/repo.git",
	"postgres://user:${PASSWORD}@host/db",
	"mailto:ana@example.com",
	"ssh://git@host:22/x",
	"https://user@host/x",
	"-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKC\n-----END PUBLIC KEY-----",
	"-----BEGIN CERTIFICATE-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKC\n-----END CERTIFICATE-----",
	"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7 ana@host",
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl",
	"if (strstr(text, \"-----BEGIN RSA PRIVATE KEY-----\")) found = true;",
	"pk_live_aB3dE5gH7jK9mN1pQ3sT5vX7",
	"AKIA is how they begin",
	"AKIAIOSFODNN7",
	"npm_config_registry",
	"npm_lifecycle_event",
	"hf_hub_download",
	"ghp_",
	"xoxb-",
	"SG.",
	"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ",
	"/home/ana/.config/token-cache/9f86d081884c7d659a2feaa0c55ad015",
	"secret_file=/run/secrets/db_password1",
	"tokenizer_config.json",
	"token: \"hello\"",
	"password",
	"Password: ",
	"docker run -u 1000:1000 image",
	"sort -u a:b12345678",
	"HEAD 3f78685..9f86d08",
	"eyJhbGciOiJIUzI1NiJ9",
	"0x9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
	"12:34:56",
	"a::b::c",
	"x == y != z",
	"account AC0123456789abcdeffedcba9876543210",
	"2026-09-04T10:00:00Z",
	"password_hash=$2b$12$abcdefghijklmnopqrstuv",
	"\"signature\":\"EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds\"",
	"[masked: github token]",
	"password=[masked: password]",
	"std::string secret::value",
	"case token: return 1;",
	"AWS_ACCESS_KEY_ID=<id>",
	"form id: 1234567890:short",
	"--- PASS: TestParseLogLevel/DEBUG_lowercase (0.00s)",
	"PASS: 12 FAIL: 0",
	"All tests pass: `mise run test:ci`",
	"pass=all_tests1",
	"bypass: \"abc123def\"",
	"compass = north42east",
	"\"test-pass\": \"The tests pass but the code that was written anew has a race condition in it\"",
	"\"password\": \"The user's password\"",
	"password: \"Please enter your password\"",
	"\"forgot_password\": \"Forgot your password?\"",
	"\"password\": \"must have at least 8 characters\"",
	"password: 'Wrong user name or 2nd factor'",
	"DB_PASS=\"$(cat /run/secrets/db)\"",
	"DB_PASS=\"${DB_PASS}\"",
	"DB_PASS=$2",
	"DB_PASS=<your password>",
	"db_pass = os.environ[\"DB_PASS_2\"]",
	"password = get_password2(user, 1)",
	"password=prompt&next=1",
	"password: string, user: string",
	"(password: changeme)",
	"the password is base64-encoded2",
	"the password is SHA256 hashed",
	"the password is required",
	"the password \"admin\" is weak",
	"their password is stored in column2",
	"secret: \"a word that is 9 letters long\"",
	"https://h/list?pageToken=CAUQAA4bC3dE5fG7",
	"https://h/list?next_token=CAUQAA4bC3dE5fG7&n=3",
	"https://h/p?token=hello",
	"https://h/p?token=$TOKEN2",
	"https://h/p?token={token_2}",
	"https://h/p?token=<token-1>",
	"https://h/p?sig=none&auth=basic",
	"https://h/p?author=ana123456",
	"https://h/p?design=blue12345",
	"mysql -u root -p shop2024",
	"docker run -p 8080:80 image",
	"mkdir -p build2/release",
	"密码: 不能为空",
	"contraseña: obligatoria",
	"{\"\\u0069d\":\"9f3c2b1a7daB3dE5gH\"}",
};

static void look_alikes_stay(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(STAYS) / sizeof(STAYS[0]); i++) {
		size_t count;
		char *out = masked(STAYS[i], strlen(STAYS[i]), &count);
		assert_string_equal(out, STAYS[i]);
		assert_int_equal(count, 0);
		free(out);
	}
}

/* ---- Records ---------------------------------------------------------------------------------------------
 */

#define KEY "ghp_" A36
#define MASK "[masked: github token]"

static void check_record(const char *record, const char *wanted, size_t secrets)
{
	struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);
	struct json value;
	size_t count;
	assert_int_equal(json_parse(record, strlen(record), &value, NULL), 0);
	assert_int_equal(mask_record(&value, &out, &count), 0);
	assert_string_equal(out.data, wanted);
	assert_int_equal(count, secrets);
	assert_int_equal(json_parse(out.data, out.len, &value, NULL), 0);
	buffer_release(&out);
}

static void records_are_masked_where_people_read_and_nowhere_else(void **state)
{
	(void)state;
	check_record("{\"seq\":1,\"role\":\"user\",\"content\":\"é \\u00e9 \\/ " KEY
		     "\\n\",\"n\":1.0e2,\"crc\":\"00000000\"}",
		"{\"seq\":1,\"role\":\"user\",\"content\":\"é \\u00e9 \\/ " MASK
		"\\n\",\"n\":1.0e2,\"crc\":\"00000000\"}",
		1);
	check_record("{\"role\":\"user\",\"content\":\"\\u0067hp_" A36 "\"}",
		"{\"role\":\"user\",\"content\":\"" MASK "\"}", 1);
	check_record("{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"" KEY
		     "\",\"signature\":\"c2ln\"},{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[{"
		     "\"text\":\"" KEY
		     "\"}],\"encrypted_content\":\"x\"},{\"type\":\"redacted_thinking\",\"data\":\"" KEY
		     "\"},{\"type\":\"text\",\"text\":\"" KEY "\"}],\"tool_calls\":[{\"id\":\"" KEY
		     "\",\"name\":\"sh\",\"arguments\":\"{\\\"c\\\":\\\"a " KEY "\\\"}\"}]}",
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"" KEY
		"\",\"signature\":\"c2ln\"},{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[{\"text\":"
		"\"" KEY "\"}],\"encrypted_content\":\"x\"},{\"type\":\"redacted_thinking\",\"data\":\"" KEY
		"\"},{\"type\":\"text\",\"text\":\"" MASK "\"}],\"tool_calls\":[{\"id\":\"" KEY
		"\",\"name\":\"sh\",\"arguments\":\"{\\\"c\\\":\\\"a " MASK "\\\"}\"}]}",
		2);
	check_record("{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"" KEY
		     "\"},{\"type\":\"tool_use\",\"id\":\"t\",\"input\":"
		     "{\"password\":\"hunter2hunter2\",\"path\":\"/a\"}}]}",
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"" MASK
		"\"},{\"type\":\"tool_use\",\"id\":\"t\",\"input\":"
		"{\"password\":\"[masked: password]\",\"path\":\"/a\"}}]}",
		2);
}

/* A key means what it says without its escapes: in the record, and in the JSON of a call's arguments. */
static void keys_are_read_without_their_escapes(void **state)
{
	(void)state;
	check_record("{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"input\":"
		     "{\"\\u0070assword\":\"Tr0ub4dor&3\",\"note\":\"x\",\"\\u0069d\":\"" KEY "\"}}]}",
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"input\":"
		"{\"\\u0070assword\":\"[masked: password]\",\"note\":\"x\",\"\\u0069d\":\"" KEY "\"}}]}",
		1);
	check_record("{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c\",\"name\":\"sh\","
		     "\"arguments\":\"{\\\"\\\\u0070assword\\\":\\\"Tr0ub4dor\\\\u00263\\\"}\"}]}",
		"{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c\",\"name\":\"sh\","
		"\"arguments\":\"{\\\"\\\\u0070assword\\\":\\\"[masked: password]\\\"}\"}]}",
		1);
	check_record("{\"role\":\"user\",\"content\":\"x\",\"input\":{\"db_password\":\"correct horse battery staple\"}}",
		"{\"role\":\"user\",\"content\":\"x\",\"input\":{\"db_password\":\"[masked: password]\"}}", 1);
}

static void places_in_the_content_move_with_it(void **state)
{
	(void)state;
	/* "a KEY b": KEY has 40 bytes, its placeholder 22. The places: all of it, what follows it, its middle
	 * to the end. */
	check_record("{\"role\":\"tool\",\"content\":\"a " KEY
		     " b\",\"src\":{\"x\":{\"in_content\":[1,44]},\"y\":{\"in_content\":[43,2]},"
		     "\"z\":{\"in_content\":[10,35]},\"w\":\"" KEY "\"}}",
		"{\"role\":\"tool\",\"content\":\"a " MASK
		" b\",\"src\":{\"x\":{\"in_content\":[1,26]},\"y\":{\"in_content\":[25,2]},"
		"\"z\":{\"in_content\":[3,24]},\"w\":\"" MASK "\"}}",
		2);
}

static void a_picture_is_not_looked_at(void **state)
{
	(void)state;
	char record[6000], data[4001];
	for (size_t i = 0; i < 4000; i++)
		data[i] = "ABCDEFGHabcdefgh01234567+/"[i * 7 % 26];
	memcpy(data + 100, "/AKIAIOSFODNN7EXAMPLE/", 22);
	data[4000] = 0;
	snprintf(record, sizeof(record),
		"{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"data\":\"%s\"}}]}", data);
	check_record(record, record, 0);
}

/* ---- Hostile input ---------------------------------------------------------------------------------------
 */

static double seconds_for(const char *piece, size_t bytes)
{
	size_t len = strlen(piece), at = 0, count;
	char *text = malloc(bytes + len + 1);
	struct timespec start, end;
	while (at < bytes) {
		memcpy(text + at, piece, len);
		at += len;
	}
	text[at] = 0;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	free(masked(text, at, &count));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	free(text);
	return (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
}

/* What would take hours if any shape looked at the same bytes once a place: 256 KB each. */
static void hostile_texts_take_linear_time(void **state)
{
	(void)state;
	static const char *const PIECES[] = {"sk-", "-sk-ant-", "eyJ-", "eyJa.", "eyJaaaaaaaaaaaa.",
		"token=", "token:\"", "password=a", "Cookie: a=", "Set-Cookie: a=<", "a://b:c",
		"://a:", "-----BEGIN RSA PRIVATE KEY-----\n",
		"-----BEGIN RSA PRIVATE KEY-----\nAAAAAAAAAAAAAAAA", "Bearer ", "Authorization: Basic ",
		"AKIAIOSFODNN7EXAMPLE+", "12345678:", "[masked: ", "\\n", "SG.", "M-", "--password ",
		"curl -u a:", "a", "=", "\"", "\\", "/", "https://hooks.slack.com/services/",
		"+AKIAIOSFODNN7EXAMPLE", "sig=&", "&sig=a",
		"password:a&", "password=a,(", "password=\"", "password:\\\"", "\\u0070:", "\\u0026token=", "-p", "sshpass -p ", "mysql -pa",
		"password is ", "密码：", "pass='a "};
	for (size_t i = 0; i < sizeof(PIECES) / sizeof(PIECES[0]); i++) {
		double seconds = seconds_for(PIECES[i], 1 << 18);
		if (seconds > 1.5)
			print_error("%s: %.2f s\n", PIECES[i], seconds);
		assert_true(seconds < 1.5);
	}
}

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* Pieces that begin, end and join secrets, in any order: masking twice is masking once, and JSON stays JSON.
 */
static void any_text_is_masked_once_and_for_all(void **state)
{
	(void)state;
	static const char *const JOINTS[] = {"=", ": ", "\"", "'", " ", "\\n", "\n", ";", "Bearer ",
		"Authorization: ", "Cookie: a=", "Set-Cookie: ", "password", "token", "://u:", "@",
		"[masked: ", "]", "-", ".", "eyJ", "--password ", "AKIA", "curl -u a:", "x", "&sig", "<", "$", "&3", "pass", " is ", "\\u0070", "?token=", "-p", ")", "'a b'",
		"é", "; b=c"};
	for (int round = 0; round < 20000; round++) {
		struct buffer text = BUFFER_INIT(65536);
		size_t pieces = 1 + next_random() % 12, count;
		for (size_t i = 0; i < pieces; i++) {
			size_t total = sizeof(SECRETS) / sizeof(SECRETS[0]);
			if (next_random() % 3)
				buffer_add_text(
					&text, JOINTS[next_random() % (sizeof(JOINTS) / sizeof(JOINTS[0]))]);
			else
				buffer_add_text(&text, SECRETS[next_random() % total].secret);
		}
		char *once = masked(text.data, text.len, &count), *twice = masked(once, strlen(once), &count);
		if (strcmp(once, twice) != 0)
			print_error("text: %s\n", text.data);
		assert_string_equal(twice, once);
		assert_int_equal(count, 0);
		free(once);
		free(twice);
		struct buffer record = BUFFER_INIT(1 << 20), out = BUFFER_INIT(1 << 20);
		struct json_writer writer;
		struct json value;
		json_writer_init(&writer, &record);
		json_begin_object(&writer);
		json_member_text(&writer, "role", "user");
		json_member_string(&writer, "content", buffer_slice(&text));
		json_end_object(&writer);
		assert_int_equal(json_parse(record.data, record.len, &value, NULL), 0);
		assert_int_equal(mask_record(&value, &out, &count), 0);
		assert_int_equal(json_parse(out.data, out.len, &value, NULL), 0);
		buffer_release(&record);
		buffer_release(&out);
		buffer_release(&text);
	}
}

static void every_failed_allocation_is_an_error(void **state)
{
	(void)state;
	const char *record = "{\"role\":\"user\",\"content\":\"\\t " KEY "\",\"src\":{\"a\":[\"" KEY "\"]}}";
	for (uint64_t nth = 1;; nth++) {
		struct buffer out = BUFFER_INIT(LIMIT_LINE_BYTES);
		struct json value;
		assert_int_equal(json_parse(record, strlen(record), &value, NULL), 0);
		fail_alloc_start(nth);
		int rc = mask_record(&value, &out, NULL);
		buffer_release(&out);
		if (failure_were_all_tried(rc))
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_replaced_by_their_kind_and_nothing_else_changes),
		cmocka_unit_test(an_access_key_of_aws_takes_its_secret_along),
		cmocka_unit_test(look_alikes_stay),
		cmocka_unit_test(records_are_masked_where_people_read_and_nowhere_else),
		cmocka_unit_test(keys_are_read_without_their_escapes),
		cmocka_unit_test(places_in_the_content_move_with_it),
		cmocka_unit_test(a_picture_is_not_looked_at),
		cmocka_unit_test(hostile_texts_take_linear_time),
		cmocka_unit_test(any_text_is_masked_once_and_for_all),
		cmocka_unit_test(every_failed_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
