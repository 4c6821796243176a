#include "comm/http/http_server.h"

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

#include "comm/http/testing/http_client.h"
#include "comm/transport/tls/authority.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/access/private_file.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::HttpClient;
using testing::HttpGet;
using testing::HttpPost;
using testing::HttpResponse;

// Answers with what it was asked.
void Echo(HttpRequest& request, HttpReply reply) {
  std::string text = StrCat(request.method, " ", request.path);
  for (const auto& [name, value] : request.query) text += StrCat(" ", name, "=", value);
  reply.Send({.body = StrCat(text, " ", request.body), .type = "text/plain"});
}

std::unique_ptr<HttpServer> Start(const HttpServerOptions& options,
                                  HttpServer::Handler handler = Echo) {
  auto server = HttpServer::Start(options, std::move(handler));
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

TEST(HttpServerTest, AnswersOnOneConnection) {
  const auto server = Start({});
  HttpClient client(server->address().port);
  EXPECT_EQ(client.Ask(HttpGet("/a%20b?x=1&y=%C3%A4")).body, "GET /a b x=1 y=ä ");
  EXPECT_EQ(client.Ask(HttpPost("/p", "abc")).body, "POST /p abc");
  EXPECT_EQ(client.Ask(HttpGet("/%41%00%00b%2500%41?x=%00y")).body, "GET /A%00%00b%00A x=%00y ");
  const std::string large(3'000'000, 'x');
  EXPECT_EQ(client.Ask(HttpPost("/p", large)).body, "POST /p " + large);
  EXPECT_EQ(client
                .Ask("POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
                .body,
            "POST /c abcde");
  EXPECT_EQ(client
                .Ask("POST /e HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                     "Content-Length: 2\r\n\r\nab")
                .body,
            "POST /e ab");
}

TEST(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  const auto server = Start({.workers = 4});
  HttpClient client(server->address().port);
  std::string requests;
  for (int i = 0; i < 50; ++i) requests += HttpPost(StrCat("/", i), "body");
  ASSERT_TRUE(client.Send(requests));
  client.EndSending();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.Read().body, StrCat("POST /", i, " body"));
}

TEST(HttpServerTest, AnAnswerMayComeLaterAndFromAnotherThread) {
  std::mutex mutex;
  std::vector<HttpReply> kept;
  std::promise<void> both;
  const auto server = Start({.workers = 1}, [&](HttpRequest&, HttpReply reply) {
    const std::lock_guard lock(mutex);
    kept.push_back(std::move(reply));
    if (kept.size() == 2) both.set_value();
  });
  HttpClient first(server->address().port), second(server->address().port);
  first.Send(HttpGet("/"));
  second.Send(HttpGet("/"));
  both.get_future().wait();
  for (HttpReply& reply : kept) reply.Send({.body = "later"});
  EXPECT_EQ(first.Read().body, "later");
  EXPECT_EQ(second.Read().body, "later");
}

TEST(HttpServerTest, BriefRequestsWaitForNoWorker) {
  std::promise<void> taken, end;
  const auto server =
      Start({.workers = 1, .brief = [](const HttpRequest& request) { return request.body == "b"; }},
            [&](HttpRequest& request, HttpReply reply) {
              if (request.path == "/long") {
                taken.set_value();
                end.get_future().wait();
              }
              Echo(request, std::move(reply));
            });
  HttpClient slow(server->address().port), quick(server->address().port);
  slow.Send(HttpGet("/long"));
  taken.get_future().wait();  // the one worker is busy
  EXPECT_EQ(quick.Ask(HttpPost("/brief", "b")).body, "POST /brief b");
  EXPECT_EQ(quick.Ask(HttpPost("/again", "b")).body, "POST /again b");
  end.set_value();
  EXPECT_EQ(slow.Read().body, "GET /long ");
}

TEST(HttpServerTest, ABriefRequestThatIsDroppedIsAnswered) {
  const auto server = Start({.brief = [](const HttpRequest&) { return true; }},
                            [](HttpRequest& request, HttpReply reply) {
                              const HttpReply moved = std::move(reply);
                              if (request.path == "/memory") throw std::bad_alloc();
                            });
  HttpClient client(server->address().port);
  EXPECT_EQ(client.Ask(HttpGet("/")).code, 500);
  EXPECT_EQ(client.Ask(HttpGet("/memory")).code, 503);
}

TEST(HttpServerTest, StopsAlsoAfterMemoryIsShortBeforeTheHandler) {
  const auto server = Start({.brief = [](const HttpRequest& request) -> bool {
    if (request.path == "/memory") throw std::bad_alloc();
    return false;
  }});
  HttpClient client(server->address().port);
  client.Send(HttpGet("/memory"));
  EXPECT_TRUE(client.AwaitEnd());
  EXPECT_EQ(HttpClient(server->address().port).Ask(HttpGet("/")).code, 200);
  EXPECT_TRUE(server->Stop(std::chrono::hours(1)));
}

// libmicrohttpd is C: an exception that went through it would end the program.
TEST(HttpServerTest, NoExceptionEndsTheServer) {
  const auto server = Start({.brief =
                                 [](const HttpRequest& request) {
                                   if (request.path == "/choice") throw std::length_error("long");
                                   return request.path == "/brief";
                                 }},
                            [](HttpRequest& request, HttpReply reply) {
                              const HttpReply moved = std::move(reply);
                              if (request.path != "/") throw std::length_error("long");
                            });
  HttpClient client(server->address().port);
  EXPECT_EQ(client.Ask(HttpGet("/brief")).code, 503);
  EXPECT_EQ(client.Ask(HttpGet("/by_a_worker")).code, 503);
  client.Send(HttpGet("/choice"));
  EXPECT_TRUE(client.AwaitEnd());
  EXPECT_EQ(HttpClient(server->address().port).Ask(HttpGet("/")).code, 500);
  EXPECT_TRUE(server->Stop(std::chrono::hours(1)));
}

TEST(HttpServerTest, ARequestThatIsDroppedIsAnswered) {
  const auto server = Start({}, [](HttpRequest&, HttpReply) {});
  EXPECT_EQ(HttpClient(server->address().port).Ask(HttpGet("/")).code, 500);
}

TEST(HttpServerTest, ARequestForWhichNoMemoryIsLeftIsToBeMadeAgain) {
  int asked = 0;
  const auto server = Start({.workers = 1}, [&](HttpRequest&, HttpReply reply) {
    const HttpReply moved = std::move(reply);  // as by one that hands the request on
    if (++asked == 1) throw std::bad_alloc();
  });
  HttpClient client(server->address().port);
  const HttpResponse answer = client.Ask(HttpPost("/", "body"));
  EXPECT_EQ(answer.code, 503);
  EXPECT_EQ(answer.body, "{\"error\": \"no memory is left for this request; try again later\"}\n");
  EXPECT_THAT(answer.head, HasSubstr("\r\nRetry-After: 1\r\n"));
  EXPECT_EQ(client.Ask(HttpPost("/", "body")).code, 500) << "without an exception";
}

TEST(HttpServerTest, RefusesWhatIsTooLarge) {
  const auto server = Start({.header_bytes = 8192, .body_bytes = 1000});
  const uint16_t port = server->address().port;
  EXPECT_EQ(HttpClient(port).Ask(HttpPost("/", std::string(1000, 'x'))).code, 200);
  const HttpResponse large = HttpClient(port).Ask(HttpPost("/", std::string(1001, 'x')));
  EXPECT_EQ(large.code, 413);
  EXPECT_THAT(large.body, HasSubstr("{\"error\": \"the body is larger than the limit of 1000 "));
  EXPECT_EQ(
      HttpClient(port)
              .Ask("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n")
              .code /
          100,
      4);
  EXPECT_EQ(HttpClient(port)
                .Ask("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000000000000\r\n\r\n")
                .code,
            413)
      << "more digits than are read";
  const std::string chunk = StrCat("3e9\r\n", std::string(1001, 'x'), "\r\n");
  EXPECT_EQ(HttpClient(port)
                .Ask(StrCat("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
                            chunk, "0\r\n\r\n"))
                .code,
            413);
  HttpClient endless(port);
  endless.Send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  while (endless.Send(chunk)) {
  }
  EXPECT_EQ(HttpClient(port).Ask(HttpGet("/", StrCat("X: ", std::string(9000, 'x'), "\r\n"))).code,
            431);
}

// Callers that send all before they read get the answer, and can ask again; those that wait for it
// need not send.
TEST(HttpServerTest, ABodyIsDiscardedBeforeItsRefusal) {
  constexpr size_t kSize = 16'000'000;
  const auto server = Start({.token = "s3cret", .body_bytes = kSize / 16});
  const uint16_t port = server->address().port;
  const std::string large(kSize, 'x'), bearer = "Authorization: Bearer s3cret\r\n";
  const std::string chunked =
      StrCat("POST / HTTP/1.1\r\nHost: h\r\n", bearer,
             "Transfer-Encoding: chunked\r\n\r\nf42400\r\n", large, "\r\n0\r\n\r\n");
  HttpClient client(port);
  for (const std::string& request : {HttpPost("/", large, bearer), chunked}) {
    ASSERT_TRUE(client.Send(request));
    EXPECT_EQ(client.Read().code, 413);
  }
  ASSERT_TRUE(client.Send(HttpPost("/", large)));
  EXPECT_EQ(client.Read().code, 401);
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: ";
  EXPECT_EQ(HttpClient(port).Ask(StrCat(head, kSize, "\r\nExpect: 100-continue\r\n\r\n")).code,
            401);
  EXPECT_EQ(HttpClient(port).Ask(StrCat(head, kSize + 1, "\r\n\r\n")).code, 401);
}

TEST(HttpServerTest, AllBodiesTogetherHaveALimit) {
  const auto server = Start({.body_bytes = 1000, .all_body_bytes = 1500});
  const uint16_t port = server->address().port;
  for (int round = 0; round < 2; ++round) {  // what was taken is given back
    HttpClient first(port);
    first.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n" +
               std::string(999, 'x'));
    int code = 200;  // until those 999 have arrived
    while (code == 200) code = HttpClient(port).Ask(HttpPost("/", std::string(600, 'y'))).code;
    EXPECT_EQ(code, 503);
    EXPECT_EQ(HttpClient(port).Ask(HttpPost("/", std::string(400, 'y'))).code, 200);
    EXPECT_EQ(first.Ask("x").code, 200);
  }
}

// Its first byte reserves memory for what it declares.
TEST(HttpServerTest, ABodyThatBeganCountsWithWhatItDeclares) {
  const auto server = Start({.body_bytes = 1000, .all_body_bytes = 1500});
  const uint16_t port = server->address().port;
  HttpClient first(port);
  first.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nx");
  int code = 200;  // until that byte has arrived
  for (int i = 0; i < 1000 && code == 200; ++i) {
    code = HttpClient(port).Ask(HttpPost("/", std::string(501, 'y'))).code;
  }
  EXPECT_EQ(code, 503);
  EXPECT_EQ(HttpClient(port).Ask(HttpPost("/", std::string(500, 'y'))).code, 200);
  EXPECT_EQ(first.Ask(std::string(999, 'x')).code, 200);
  EXPECT_EQ(HttpClient(port).Ask(HttpPost("/", std::string(1000, 'y'))).code, 200);
}

TEST(HttpServerTest, RefusesMalformedRequests) {
  const auto server = Start({});
  for (const char* request :
       {"NONSENSE\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
        "0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"}) {
    HttpClient client(server->address().port);
    client.Send(request);
    client.EndSending();
    const int code = client.Read().code;
    EXPECT_TRUE(code == 0 || code / 100 == 4) << code << " for " << request;
  }
  EXPECT_EQ(HttpClient(server->address().port).Ask(HttpGet("/")).code, 200);
}

// Another server on the way may take such a line for one that says where the body ends.
TEST(HttpServerTest, LinesThatOthersMayReadInAnotherWayAreRefused) {
  const auto server = Start({});
  for (const char* line :
       {"Content-Length : 5", "Content-Length\t: 5", "Transfer-Encoding : chunked",
        "X: 1\r\n Content-Length: 5", "X: 1\rContent-Length: 5"}) {
    SCOPED_TRACE(line);
    HttpClient client(server->address().port);
    const HttpResponse answer =
        client.Ask(StrCat("POST / HTTP/1.1\r\nHost: h\r\n", line, "\r\n\r\n"));
    EXPECT_EQ(answer.code, 400);
    EXPECT_THAT(answer.body, HasSubstr("has a blank, an end of a line or another character"));
    EXPECT_TRUE(client.AwaitEnd());
  }
  EXPECT_EQ(HttpClient(server->address().port).Ask(HttpGet("/", "X.y_z-1~: a b\tc\r\n")).code, 200);
}

// Where it is not clear where a body ends, or the body is not awaited, its bytes must not become
// another request: not even where the host or the token is wrong.
TEST(HttpServerTest, NothingFollowsARequestWhoseBodyHasNoKnownEnd) {
  std::atomic<bool> kept = false;
  const auto server = Start({.token = "s3cret",
                             .hosts = {{"node1"}},
                             .on_answer = [&](const HttpRequest& request, int, auto) {
                               kept = kept || request.Header("Authorization") != nullptr;
                             }});
  const uint16_t port = server->address().port;
  const std::string bearer = "Authorization: Bearer s3cret\r\n";
  const std::string next = StrCat("0\r\n\r\nGET /next HTTP/1.1\r\nHost: node1\r\n", bearer, "\r\n");
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  const std::string lengths[] = {
      StrCat(chunked, "Content-Length: abc\r\n"),
      StrCat("Content-Length: abc\r\n", chunked),
      StrCat(chunked, "Content-Length: \r\n"),
      StrCat(chunked, "Content-Length: ", next.size(), "\r\n"),
      StrCat("Content-Length: ", next.size(), "\r\n", chunked),
      "Content-Length: 5\r\nContent-Length: 5\r\n",
      StrCat("Content-Length: 5\r\nContent-Length: ", next.size(), "\r\n"),
      StrCat(chunked, chunked),
      "Transfer-Encoding: gzip, chunked\r\n",
  };
  for (const std::string& caller :
       {StrCat("Host: node1\r\n", bearer), std::string("Host: node1\r\n"),
        StrCat("Host: evil\r\n", bearer)}) {
    for (const char* method : {"POST", "GET", "DELETE"}) {
      for (const std::string& length : lengths) {
        SCOPED_TRACE(StrCat(method, " ", caller, length));
        HttpClient client(port);
        EXPECT_EQ(client.Ask(StrCat(method, " / HTTP/1.1\r\n", caller, length, "\r\n", next)).code,
                  400);
        EXPECT_EQ(client.Read().code, 0) << "another answer";
        EXPECT_TRUE(client.AwaitEnd());
      }
    }
  }
  EXPECT_EQ(HttpClient(port).Ask(StrCat("GET / HTTP/1.1\r\nHost: node1\r\n", bearer, "\r\n")).code,
            200);
  EXPECT_FALSE(kept) << "a refused request keeps its token";
}

TEST(HttpServerTest, NothingFollowsARefusalThatDoesNotAwaitTheBody) {
  const auto server = Start({.token = "s3cret", .body_bytes = 1});
  const uint16_t port = server->address().port;
  const std::string bearer = "Authorization: Bearer s3cret\r\n";
  const std::string next = HttpGet("/next", bearer);
  for (const char* method : {"POST", "GET", "DELETE"}) {
    for (const std::string& header : {std::string("Expect: 100-continue\r\n"), std::string()}) {
      for (const std::string& token : {std::string(), bearer}) {
        SCOPED_TRACE(StrCat(method, " ", header, token));
        HttpClient client(port);
        EXPECT_EQ(client
                      .Ask(StrCat(method, " / HTTP/1.1\r\nHost: localhost\r\n", token, header,
                                  "Content-Length: ", next.size(), "\r\n\r\n", next))
                      .code,
                  token.empty() ? 401 : 413);
        EXPECT_EQ(client.Read().code, 0) << "another answer";
        EXPECT_TRUE(client.AwaitEnd());
      }
    }
  }
}

// Nothing says where such a body ends.
TEST(HttpServerTest, ABodyOfAnUnknownCodingIsRefused) {
  const auto server = Start({});
  const HttpResponse answer =
      HttpClient(server->address().port)
          .Ask("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\nabc");
  EXPECT_EQ(answer.code, 400);
  EXPECT_THAT(answer.body, HasSubstr("expected chunked, or a Content-Length"));
}

// As a page in a browser would send them whose name was made to lead here.
TEST(HttpServerTest, OnlyItsOwnNamesAreAnsweredWhereTheyAreKnown) {
  const auto server = Start({.hosts = {{"node1", "192.0.2.7"}}});
  const uint16_t port = server->address().port;
  const auto code = [&](const std::string& host) {
    return HttpClient(port).Ask("GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n").code;
  };
  for (const char* host : {"localhost", "localhost:8000", "127.0.0.1", "127.0.0.1:80", "[::1]",
                           "[::1]:8000", "::1", "node1", "NODE1:1", "192.0.2.7:8000"}) {
    EXPECT_EQ(code(host), 200) << host;
  }
  for (const char* host :
       {"evil.example", "evil.example:80", "node1.evil.example", "node", ":80",
        "localhost.evil.example", "127.0.0.1.evil.example", "[evil.example]", "192.0.2.70"}) {
    EXPECT_EQ(code(host), 421) << host;
  }
  EXPECT_THAT(HttpClient(port).Ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n").body,
              HasSubstr("the header Host names \\\"evil.example\\\", which is not a name that this "
                        "server answers to"));
  EXPECT_EQ(HttpClient(port).Ask("GET / HTTP/1.0\r\n\r\n").code, 200);
  // The body is not handled, whatever its length.
  EXPECT_EQ(HttpClient(port)
                .Ask("POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 3\r\n\r\nabc")
                .code,
            421);
}

TEST(HttpServerTest, OneAddressHasAsManyConnectionsAsItMay) {
  const auto server = Start({.address_connections = 2});
  const uint16_t port = server->address().port;
  HttpClient first(port);
  EXPECT_EQ(first.Ask(HttpGet("/")).code, 200);
  {
    HttpClient second(port);
    EXPECT_EQ(second.Ask(HttpGet("/")).code, 200);
    EXPECT_EQ(HttpClient(port).Ask(HttpGet("/")).code, 0) << "closed";
    EXPECT_EQ(second.Ask(HttpGet("/")).code, 200);
  }
  EXPECT_EQ(first.Ask(HttpGet("/")).code, 200);
  while (HttpClient(port).Ask(HttpGet("/")).code != 200) {  // the second's end is noticed
  }
}

TEST(HttpServerTest, ARequestNamesOneHost) {
  const auto server = Start({});
  HttpClient none(server->address().port), two(server->address().port);
  const HttpResponse answer = none.Ask("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(answer.code, 400);
  EXPECT_THAT(answer.body, HasSubstr("{\"error\": \"the request has 0 headers Host; "));
  EXPECT_EQ(two.Ask(HttpGet("/", "Host: other\r\n")).code, 400);
  EXPECT_EQ(HttpClient(server->address().port).Ask("GET / HTTP/1.0\r\n\r\n").code, 200);
}

TEST(HttpServerTest, SlowOnesAreEnded) {
  const auto server =
      Start({.patience = milliseconds(100)}, [](HttpRequest& request, HttpReply reply) {
        reply.Send({.body = request.path == "/large" ? std::string(100'000'000, 'x') : "x"});
      });
  const uint16_t port = server->address().port;
  // A byte now and then does not help.
  HttpClient headers(port), body(port);
  headers.Send("GET / HTTP/1.1\r\n");
  body.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n");
  HttpClient chunks(port);
  chunks.Send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  while (headers.Send("X") || chunks.Send("1\r\nx\r\n")) {
  }
  HttpClient silent(port), idle(port), deaf(port);
  EXPECT_EQ(idle.Ask(HttpGet("/")).code, 200);
  deaf.Send(HttpGet("/large"));
  for (HttpClient* client : {&silent, &idle, &body}) EXPECT_TRUE(client->AwaitEnd());
  EXPECT_TRUE(server->Stop(std::chrono::hours(1))) << "also the one that reads nothing has ended";
}

// An end that comes together with the last bytes.
TEST(HttpServerTest, ConnectionsThatEndInTheMidstMakeRoom) {
  const auto server = Start({.connections = 2, .patience = std::chrono::hours(1)});
  const uint16_t port = server->address().port;
  for (int i = 0; i < 6; ++i) {
    HttpClient(port).Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
  }
  EXPECT_EQ(HttpClient(port).Ask(HttpGet("/")).code, 200);
}

TEST(HttpServerTest, ConnectionsBeyondTheLimitWait) {
  const auto server = Start({.connections = 2, .patience = milliseconds(300)});
  std::vector<HttpClient> clients;
  for (int i = 0; i < 6; ++i) clients.emplace_back(server->address().port);
  for (HttpClient& client : clients) ASSERT_TRUE(client.Send(HttpGet("/")));
  for (HttpClient& client : clients) EXPECT_EQ(client.Read().code, 200);
}

TEST(HttpServerTest, AnswersThoseWithTheToken) {
  std::atomic<int> refused = 0, answered = 0;
  std::atomic<bool> kept = false;
  const auto server = Start({.token = "s3cret",
                             .open_paths = {"/open"},
                             .on_answer = [&](const HttpRequest& request, int code, auto) {
                               kept = kept || request.Header("Authorization") != nullptr;
                               ++(code == 401 ? refused : answered);
                             }});
  const uint16_t port = server->address().port;
  const auto code = [&](std::string_view path, std::string_view headers) {
    return HttpClient(port).Ask(HttpPost(path, "body", headers)).code;
  };
  EXPECT_EQ(code("/", "Authorization: Bearer s3cret\r\n"), 200);
  EXPECT_EQ(code("/", "Authorization: bearer s3cret\r\n"), 200);
  EXPECT_EQ(code("/open", "Authorization: Bearer other\r\n"), 200);
  for (const char* wrong : {"", "Authorization: Bearer s3cre\r\n", "Authorization: Bearer \r\n",
                            "Authorization: Bearer s3cret2\r\n", "Authorization: Basic s3cret\r\n",
                            "Authorization: s3cret\r\n", "X-Authorization: Bearer s3cret\r\n"}) {
    EXPECT_EQ(code("/", wrong), 401) << wrong;
  }
  EXPECT_EQ(code("/open/x", ""), 401);
  EXPECT_EQ(refused, 8);
  EXPECT_EQ(answered, 3);
  EXPECT_FALSE(kept) << "the handler sees the token";
}

TEST(HttpServerTest, StopsAfterItsAnswers) {
  std::promise<HttpReply> taken;
  auto server = Start({}, [&](HttpRequest& request, HttpReply reply) {
    if (request.path == "/slow") return taken.set_value(std::move(reply));
    reply.Send({.body = "quick"});
  });
  const uint16_t port = server->address().port;
  HttpClient slow(port), half(port), idle(port);
  EXPECT_EQ(idle.Ask(HttpGet("/")).code, 200);
  slow.Send(HttpGet("/slow"));
  HttpReply reply = taken.get_future().get();
  half.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na");
  EXPECT_EQ(idle.Ask(HttpGet("/")).code, 200) << "so that the half request has been read";
  std::promise<bool> stopped;
  std::thread stop([&] { stopped.set_value(server->Stop(std::chrono::hours(1))); });
  EXPECT_TRUE(idle.AwaitEnd());
  EXPECT_FALSE(HttpClient(port).connected());
  half.Send("bc");
  const HttpResponse last = half.Read();
  EXPECT_EQ(last.code, 200);
  EXPECT_THAT(last.head, HasSubstr("Connection: close"));
  reply.Send({.body = "done"});
  EXPECT_EQ(slow.Read().body, "done");
  EXPECT_TRUE(stopped.get_future().get());
  stop.join();
}

TEST(HttpServerTest, StopsInTimeWhereOthersDoNot) {
  auto server = Start({});
  HttpClient half(server->address().port), other(server->address().port);
  half.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(other.Ask(HttpGet("/")).code, 200);
  EXPECT_FALSE(server->Stop(milliseconds(50)));
  EXPECT_TRUE(half.AwaitEnd());
}

TEST(HttpServerTest, ServesByTls) {
  const std::string folder = ::testing::TempDir() + "/tls";
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& text) {
    EXPECT_TRUE(WritePrivateFile(folder + "/" + name, text).ok());
    return folder + "/" + name;
  };
  const Certificate authority = *MakeAuthority("authority");
  const Certificate host = *MakeHostCertificate(authority, {"localhost", "127.0.0.1"});
  const Certificate other = *MakeAuthority("other");
  const std::string trusted = write("ca.pem", authority.certificate);
  const std::string wrong = write("other.pem", other.certificate);
  HttpServerOptions options = {.certificate_file = write("host.pem", host.certificate),
                               .key_file = write("host.key", host.key)};
  const auto server = Start(options);
  const uint16_t port = server->address().port;
  HttpClient client(port, trusted);
  ASSERT_TRUE(client.connected());
  const std::string large(1'000'000, 'x');
  EXPECT_EQ(client.Ask(HttpPost("/p", large)).body, "POST /p " + large);
  EXPECT_FALSE(HttpClient(port, wrong).connected());
  EXPECT_EQ(HttpClient(port).Ask(HttpGet("/")).code, 0) << "without TLS";

  const auto message = [&] {
    return std::string(HttpServer::Start(options, Echo).status().message());
  };
  options.key_file = write("other.key", other.key);
  EXPECT_EQ(message(), StrCat(options.key_file, ": the key does not belong to the certificate in ",
                              options.certificate_file));
  options.key_file = write("text.key", "text");
  EXPECT_THAT(message(), HasSubstr("text.key: expected a private key in PEM form"));
  options.key_file = folder + "/host.key";
  options.certificate_file = write("text.pem", "text");
  EXPECT_THAT(message(), HasSubstr("text.pem: expected a certificate in PEM form"));
  ASSERT_EQ(chmod(options.key_file.c_str(), 0644), 0);
  EXPECT_THAT(message(), HasSubstr("host.key"));
  options.certificate_file = folder + "/none";
  EXPECT_THAT(message(), HasSubstr("none"));
}

TEST(HttpServerTest, TakesASocketThatListens) {
  Socket listener = *Listen({.host = "127.0.0.1"});
  const uint16_t port = listener.Local()->port;
  HttpClient early(port);
  ASSERT_TRUE(early.Send(HttpGet("/early")));
  const auto server = Start({.listener = listener.Release()});
  EXPECT_EQ(server->address().port, port);
  EXPECT_EQ(early.Read().body, "GET /early ");
}

TEST(HttpServerTest, ATakenPortIsNamed) {
  const auto server = Start({});
  const absl::Status status = HttpServer::Start({.address = server->address()}, Echo).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr(StrCat(server->address().port)));
}

}  // namespace
}  // namespace dtnn
