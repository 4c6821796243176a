#include "comm/transport/tls/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/meeting/greeting.h"
#include "comm/transport/meeting/handshake.h"
#include "comm/transport/tls/authority.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using std::chrono::hours;
using ::testing::HasSubstr;

std::string WriteText(const std::string& name, const std::string& text, bool is_private = false) {
  const std::string path = ::testing::TempDir() + "/" + name;
  std::filesystem::remove(path);
  std::ofstream(path) << text;
  using std::filesystem::perms;
  std::filesystem::permissions(path, perms::owner_read | perms::owner_write |
                                         (is_private ? perms::none : perms::others_read));
  return path;
}

const Certificate& TestAuthority() {
  static const Certificate authority = Must(MakeAuthority("test"));
  return authority;
}

// Files of a host with these names.
TlsFiles Files(const std::string& id, const std::vector<std::string>& names,
               const Validity& validity = {}, const Certificate& authority = TestAuthority()) {
  const Certificate host = Must(MakeHostCertificate(authority, names, validity));
  return {.certificate = WriteText(id + ".pem", host.certificate),
          .key = WriteText(id + ".key", host.key, /*is_private=*/true),
          .authority = WriteText(id + ".authority", authority.certificate)};
}

const TlsFiles& Good() {
  static const TlsFiles files = Files("good", {"localhost", "127.0.0.1"});
  return files;
}

struct Sockets {
  Socket caller, called;
};

Sockets Connect() {
  const Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  Socket caller = Must(StartConnecting(Must(Resolve(Must(listener.Local()))).front()));
  std::optional<Socket> called;
  while (!called) called = Must(Accept(listener));
  return {std::move(caller), *std::move(called)};
}

// Until all that was written has arrived at the other end, both ways, or one end has failed.
struct Ends {
  absl::Status caller, called;
};

class End {
 public:
  End(std::unique_ptr<Stream> stream, std::string says)
      : stream_(std::move(stream)), says_(std::move(says)) {}

  void Advance() {
    if (!status_.ok()) return;
    const std::span<const std::byte> range = std::as_bytes(std::span(says_));
    if (!says_.empty()) {
      const absl::StatusOr<size_t> written = stream_->Write({&range, 1});
      if (!written.ok()) return Fail(written.status());
      says_.erase(0, *written);
    }
    std::array<std::byte, 1000> buffer;
    const absl::StatusOr<size_t> n = stream_->Read(buffer);
    if (!n.ok()) return Fail(n.status());
    heard_.append(reinterpret_cast<const char*>(buffer.data()), *n);
  }
  bool HasSaidAll() const { return says_.empty(); }
  const std::string& heard() const { return heard_; }
  const absl::Status& status() const { return status_; }
  Stream& stream() { return *stream_; }

 private:
  void Fail(const absl::Status& status) {
    status_ = status;
    shutdown(stream_->descriptor(), SHUT_WR);
  }

  const std::unique_ptr<Stream> stream_;
  std::string says_, heard_;
  absl::Status status_;
};

// Between ends with those files; `called`: the name by which the one calls the other.
Ends Talk(const TlsFiles& of_caller, const TlsFiles& of_called,
          const std::string& called = "localhost") {
  Sockets sockets = Connect();
  End caller(Must(Must(TlsStreams(of_caller))(std::move(sockets.caller), called)), "hello");
  End answers(Must(Must(TlsStreams(of_called))(std::move(sockets.called), "")), "welcome");
  // The refused end hears of it from the other.
  while (caller.heard() != "welcome" || answers.heard() != "hello") {
    caller.Advance();
    answers.Advance();
    if (!caller.status().ok() && !answers.status().ok()) break;
  }
  return {caller.status(), answers.status()};
}

void ExpectRefused(const absl::Status& status, const std::string& words) {
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(words));
}

TEST(TlsStreamTest, HostsOfOneAuthorityTalk) {
  const TlsFiles other = Files("other", {"127.0.0.1", "node1.example"});
  for (const char* name : {"127.0.0.1", "node1.example"}) {
    const Ends ends = Talk(Good(), other, name);
    EXPECT_EQ(ends.caller, absl::OkStatus());
    EXPECT_EQ(ends.called, absl::OkStatus());
  }
}

TEST(TlsStreamTest, ABindingIsTheSameAtBothEndsAndOfNoOtherConnection) {
  std::vector<std::vector<uint8_t>> bindings;
  for (int connection = 0; connection < 2; ++connection) {
    Sockets sockets = Connect();
    const StreamMaker make = Must(TlsStreams(Good()));
    End caller(Must(make(std::move(sockets.caller), "localhost")), "hello");
    End called(Must(make(std::move(sockets.called), "")), "welcome");
    EXPECT_FALSE(caller.stream().binding().ok()) << "nothing is agreed yet";
    while (caller.heard() != "welcome" || called.heard() != "hello") {
      caller.Advance();
      called.Advance();
    }
    bindings.push_back(Must(caller.stream().binding()));
    EXPECT_EQ(bindings.back().size(), 32u);
    EXPECT_EQ(Must(called.stream().binding()), bindings.back());
  }
  EXPECT_NE(bindings[0], bindings[1]);
}

TEST(TlsStreamTest, MuchIsCarriedUnchangedBothWays) {
  Sockets sockets = Connect();
  const StreamMaker make = Must(TlsStreams(Good()));
  std::string much(3'000'000, 'x');
  for (size_t i = 0; i < much.size(); ++i) much[i] = char(i * i >> 7);
  End caller(Must(make(std::move(sockets.caller), "localhost")), much);
  End called(Must(make(std::move(sockets.called), "")), much + "more");
  while (caller.heard().size() < much.size() + 4 || called.heard().size() < much.size()) {
    caller.Advance();
    called.Advance();
    ASSERT_EQ(caller.status(), absl::OkStatus());
    ASSERT_EQ(called.status(), absl::OkStatus());
  }
  EXPECT_TRUE(caller.heard() == much + "more");
  EXPECT_TRUE(called.heard() == much);
  caller.stream().CloseWriting();
  while (called.status().ok()) called.Advance();
  EXPECT_EQ(called.status().code(), absl::StatusCode::kOutOfRange);
}

TEST(TlsStreamTest, ExpiredCertificatesAreRefused) {
  const TlsFiles expired =
      Files("expired", {"localhost", "127.0.0.1"}, {.from = hours(-48), .until = hours(-1)});
  const Ends called = Talk(Good(), expired);
  ExpectRefused(called.caller, "the certificate of localhost has expired");
  ExpectRefused(called.called, "refuses this host's certificate: it has expired");
  const Ends caller = Talk(expired, Good());
  ExpectRefused(caller.called, "the certificate of 127.0.0.1 has expired");
  ExpectRefused(caller.caller, "localhost refuses this host's certificate: it has expired");
  const TlsFiles early = Files("early", {"localhost"}, {.from = hours(1)});
  ExpectRefused(Talk(Good(), early).caller, "is not valid yet");
}

TEST(TlsStreamTest, ClocksMayBeADayApart) {
  const TlsFiles files = Files("clock", {"localhost", "127.0.0.1"}, {.from = hours(-1)});
  EXPECT_EQ(Talk(files, files).caller, absl::OkStatus());
}

TEST(TlsStreamTest, CertificatesOfOtherHostsAreRefused) {
  const TlsFiles other = Files("elsewhere", {"node2.example", "10.0.0.7"});
  const Ends called = Talk(Good(), other);
  ExpectRefused(called.caller, "the certificate at the other end is not for localhost");
  const Ends caller = Talk(other, Good());
  ExpectRefused(caller.called, "the certificate at the other end is not for 127.0.0.1");
  ExpectRefused(caller.caller, "it is not for the address from which this host calls");
  // A name that looks like an address does not stand for the address.
  const TlsFiles name = Files("named", {"localhost", "x.127.0.0.1"});
  ExpectRefused(Talk(Good(), name, "127.0.0.1").caller, "is not for 127.0.0.1");
}

TEST(TlsStreamTest, OtherAuthoritiesAreRefused) {
  const Certificate authority = Must(MakeAuthority("test"));  // the same name, another key
  const TlsFiles other = Files("foreign", {"localhost", "127.0.0.1"}, {}, authority);
  TlsFiles trusts_ours = other;
  trusts_ours.authority = Good().authority;
  const Ends called = Talk(Good(), trusts_ours);
  ExpectRefused(called.caller, "the certificate of localhost is of another authority");
  const Ends caller = Talk(trusts_ours, Good());
  ExpectRefused(caller.called, "the certificate of 127.0.0.1 is of another authority");
  // A host cannot be an authority itself.
  const Certificate host = Must(MakeHostCertificate(TestAuthority(), {"localhost"}));
  EXPECT_EQ(MakeHostCertificate(host, {"localhost"}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TlsStreamTest, WithinOneHostItsNameIsEnough) {
  const TlsFiles files = Files("local", {"localhost"});
  const Ends ends = Talk(files, files, "127.0.0.1");
  EXPECT_EQ(ends.caller, absl::OkStatus());
  EXPECT_EQ(ends.called, absl::OkStatus());
  EXPECT_EQ(*ExpectedName(files, "127.0.0.1"), "localhost");
  EXPECT_EQ(*ExpectedName(files, "::1"), "localhost");
  EXPECT_EQ(*ExpectedName(files, "10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(*ExpectedName(Good(), "127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(*ExpectedName(Files("node", {"node2.example"}), "127.0.0.1"), "127.0.0.1");
}

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using X509Pointer = std::unique_ptr<X509, decltype(&X509_free)>;
using KeyPointer = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bio Reads(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), int(text.size())), BIO_free);
}
X509Pointer CertificateOf(const Certificate& pem) {
  return X509Pointer(PEM_read_bio_X509(Reads(pem.certificate).get(), nullptr, nullptr, nullptr),
                     X509_free);
}
KeyPointer KeyOf(const Certificate& pem) {
  return KeyPointer(PEM_read_bio_PrivateKey(Reads(pem.key).get(), nullptr, nullptr, nullptr),
                    EVP_PKEY_free);
}
// In PEM form, signed again.
std::string Signed(X509& certificate, const Certificate& by) {
  EXPECT_GT(X509_sign(&certificate, KeyOf(by).get(), EVP_sha256()), 0);
  const Bio text(BIO_new(BIO_s_mem()), BIO_free);
  EXPECT_EQ(PEM_write_bio_X509(text.get(), &certificate), 1);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  return std::string(bytes, size_t(size));
}
void Remove(X509& certificate, int extension) {
  X509_EXTENSION_free(
      X509_delete_ext(&certificate, X509_get_ext_by_NID(&certificate, extension, -1)));
}

// With the names of a host as its common name alone.
TlsFiles WithoutAlternativeNames(const std::string& id, const std::string& name) {
  const Certificate host = Must(MakeHostCertificate(TestAuthority(), {name}));
  const X509Pointer certificate = CertificateOf(host);
  Remove(*certificate, NID_subject_alt_name);
  return {.certificate = WriteText(id + ".pem", Signed(*certificate, TestAuthority())),
          .key = WriteText(id + ".key", host.key, /*is_private=*/true),
          .authority = WriteText(id + ".authority", TestAuthority().certificate)};
}

// A certificate of an authority that may sign authorities, signed by `by` or by itself.
Certificate Signer(const std::string& name, const Certificate* by) {
  const Certificate own = Must(MakeAuthority(name));
  const X509Pointer certificate = CertificateOf(own);
  for (const int extension : {NID_basic_constraints, NID_authority_key_identifier}) {
    if (X509_get_ext_by_NID(certificate.get(), extension, -1) >= 0) Remove(*certificate, extension);
  }
  X509_EXTENSION* const any =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE");
  EXPECT_EQ(X509_add_ext(certificate.get(), any, -1), 1);
  X509_EXTENSION_free(any);
  if (by != nullptr) {
    X509_set_issuer_name(certificate.get(), X509_get_subject_name(CertificateOf(*by).get()));
  }
  return {.certificate = Signed(*certificate, by == nullptr ? own : *by), .key = own.key};
}

// A host whose certificate so many authorities stand behind, each signed by the next; all trust the
// last.
TlsFiles Chain(int between) {
  const Certificate root = Signer("root", nullptr);
  Certificate signer = root;
  std::string chain;
  for (int i = 0; i < between; ++i) {
    signer = Signer("between " + std::to_string(i), &signer);
    chain = signer.certificate + chain;
  }
  TlsFiles files = Files("chain" + std::to_string(between), {"localhost", "127.0.0.1"}, {}, signer);
  std::ofstream(files.certificate, std::ios::app) << chain;
  files.authority = WriteText("chain.root", root.certificate);
  return files;
}

TEST(TlsStreamTest, AChainHasAtMostThreeAuthoritiesBetween) {
  for (const int between : {0, 1, 3}) {
    const TlsFiles files = Chain(between);
    EXPECT_EQ(Talk(files, files).caller, absl::OkStatus()) << between;
  }
  const TlsFiles files = Chain(4);
  ExpectRefused(Talk(files, files).caller, "chain");
}

TEST(TlsStreamTest, CommonNamesDoNotCount) {
  const TlsFiles common = WithoutAlternativeNames("common", "localhost");
  ExpectRefused(Talk(Good(), common).caller, "is not for localhost");
  ExpectRefused(Talk(common, common, "127.0.0.1").caller, "is not for 127.0.0.1");
}

// An end of OpenSSL's with a given configuration, on a thread, until the other has closed.
void RunPeer(Socket socket, bool server, const std::function<void(SSL_CTX*)>& configure) {
  std::thread([socket = std::make_shared<Socket>(std::move(socket)), server, configure] {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_method()),
                                                                    SSL_CTX_free);
    configure(context.get());
    const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), SSL_free);
    SSL_set_fd(ssl.get(), socket->descriptor());
    server ? SSL_set_accept_state(ssl.get()) : SSL_set_connect_state(ssl.get());
    char byte = 0;
    pollfd descriptor = {socket->descriptor(), POLLIN, 0};
    const auto failed = [&](int result) {
      const int error = SSL_get_error(ssl.get(), result);
      return error == SSL_ERROR_SSL || error == SSL_ERROR_SYSCALL;
    };
    while (!failed(SSL_write(ssl.get(), &byte, 1)) && !failed(SSL_read(ssl.get(), &byte, 1))) {
      poll(&descriptor, 1, 100);
    }
    // What failed reads no more: what still comes would stay in the queue before the end.
    ssize_t n = 0;
    do {
      poll(&descriptor, 1, -1);
      n = recv(socket->descriptor(), &byte, 1, MSG_DONTWAIT);
    } while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
  }).join();
}

// Our end, which a peer has called or is called by, until it fails.
absl::Status Fate(bool called, const std::function<void(Socket)>& peer) {
  Sockets sockets = Connect();
  std::thread other([&] { peer(std::move(called ? sockets.caller : sockets.called)); });
  End ours(Must(Must(TlsStreams(Good()))(std::move(called ? sockets.called : sockets.caller),
                                         called ? "" : "localhost")),
           "hello");
  while (ours.status().ok() && ours.heard().empty()) ours.Advance();
  shutdown(ours.stream().descriptor(), SHUT_RDWR);
  other.join();
  return ours.status();
}

TEST(TlsStreamTest, OlderVersionsAreRefused) {
  const auto old = [](SSL_CTX* context) {
    SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_use_certificate_chain_file(context, Good().certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context, Good().key.c_str(), SSL_FILETYPE_PEM);
  };
  for (const bool called : {false, true}) {
    ExpectRefused(Fate(called, [&](Socket socket) { RunPeer(std::move(socket), !called, old); }),
                  "speaks only older versions than TLS 1.3");
  }
}

TEST(TlsStreamTest, NobodyGetsATicket) {
  static int tickets;
  tickets = 0;
  const absl::Status fate = Fate(true, [](Socket socket) {
    RunPeer(std::move(socket), false, [](SSL_CTX* context) {
      SSL_CTX_use_certificate_chain_file(context, Good().certificate.c_str());
      SSL_CTX_use_PrivateKey_file(context, Good().key.c_str(), SSL_FILETYPE_PEM);
      SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT);
      SSL_CTX_sess_set_new_cb(context, [](SSL*, SSL_SESSION*) {
        ++tickets;
        return 0;
      });
    });
  });
  EXPECT_EQ(fate, absl::OkStatus());
  EXPECT_EQ(tickets, 0);
}

TEST(TlsStreamTest, WhoShowsNoCertificateIsRefused) {
  ExpectRefused(
      Fate(true, [](Socket socket) { RunPeer(std::move(socket), false, [](SSL_CTX*) {}); }),
      "127.0.0.1 shows no certificate");
}

TEST(TlsStreamTest, WhoShowsTooManyCertificatesIsRefused) {
  const auto many = [](SSL_CTX* context) {
    SSL_CTX_use_certificate_chain_file(context, Good().certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context, Good().key.c_str(), SSL_FILETYPE_PEM);
    for (int i = 0; i < 80; ++i) {  // about 40 KB, of the 100 that OpenSSL allows
      SSL_CTX_add1_chain_cert(context, SSL_CTX_get0_certificate(context));
    }
  };
  for (const bool called : {false, true}) {
    ExpectRefused(Fate(called, [&](Socket socket) { RunPeer(std::move(socket), !called, many); }),
                  "certificates of at most 16 KiB");
  }
}

TEST(TlsStreamTest, WhatIsNotTlsIsRefused) {
  for (const bool called : {false, true}) {
    const absl::Status fate = Fate(called, [](Socket socket) {
      const std::string says(200, 'D');
      send(socket.descriptor(), says.data(), says.size(), MSG_NOSIGNAL);
      shutdown(socket.descriptor(), SHUT_WR);
      char byte = 0;
      pollfd descriptor = {socket.descriptor(), POLLIN, 0};
      do {
        poll(&descriptor, 1, -1);
      } while (recv(socket.descriptor(), &byte, 1, 0) > 0);
    });
    ExpectRefused(fate, "does not speak TLS");
  }
}

// As the door of a rank does, until both have failed.
Ends GreetEachOther(const StreamMaker& of_caller, const StreamMaker& of_called) {
  const JobSecret secret = Must(JobSecret::Of(std::string(40, 's')));
  Sockets sockets = Connect();
  Greeting caller = {.stream = Must(MakeStream(of_caller, std::move(sockets.caller), "localhost")),
                     .handshake = Must(Handshake::Calling(secret, "a test"))};
  Greeting called = {.stream = Must(MakeStream(of_called, std::move(sockets.called), "")),
                     .handshake = Handshake::Answering(secret, "a test")};
  Ends ends;
  while (ends.caller.ok() || ends.called.ok()) {
    if (ends.caller.ok()) ends.caller = caller.Advance();
    if (!ends.called.ok()) continue;
    ends.called = called.Advance();
    if (!ends.called.ok()) called.stream->CloseWriting();
  }
  return ends;
}

TEST(TlsStreamTest, WhereOneEndHasNoTlsBothSaySo) {
  const StreamMaker tls = Must(TlsStreams(Good()));
  const Ends without = GreetEachOther(nullptr, tls);
  EXPECT_EQ(without.caller.code(), absl::StatusCode::kInvalidArgument) << "or it would call again";
  EXPECT_THAT(std::string(without.caller.message()), HasSubstr("it uses TLS, which this process"));
  EXPECT_THAT(std::string(without.caller.message()), HasSubstr("PYMPI_SSL=yes"));
  ExpectRefused(without.called, "127.0.0.1 calls without TLS; start all with PYMPI_SSL=yes");
  const Ends with = GreetEachOther(tls, nullptr);
  ExpectRefused(with.caller, "localhost does not speak TLS");
  EXPECT_THAT(std::string(with.called.message()), HasSubstr("uses TLS, which this process"));
}

TEST(TlsStreamTest, ACutHandshakeIsSaid) {
  for (const bool called : {false, true}) {
    for (const std::string& says : {std::string(), std::string("\x16\x03\x01\x02\x00\x01", 6)}) {
      const absl::Status fate = Fate(called, [&](Socket socket) {
        send(socket.descriptor(), says.data(), says.size(), MSG_NOSIGNAL);
        shutdown(socket.descriptor(), SHUT_WR);
        char byte = 0;
        pollfd descriptor = {socket.descriptor(), POLLIN, 0};
        do {
          poll(&descriptor, 1, -1);
        } while (recv(socket.descriptor(), &byte, 1, 0) > 0);
      });
      EXPECT_EQ(fate.code(), absl::StatusCode::kUnavailable);
      EXPECT_THAT(std::string(fate.message()),
                  HasSubstr("cut the connection during the handshake"));
    }
  }
}

// A recording of one connection does not answer another.
TEST(TlsStreamTest, ARecordedHandshakeIsRefused) {
  // Records what a good caller says, byte by byte, and says it again.
  std::string recorded;
  {
    Sockets outer = Connect(), inner = Connect();
    const StreamMaker make = Must(TlsStreams(Good()));
    End caller(Must(make(std::move(outer.caller), "localhost")), "hello");
    End called(Must(make(std::move(inner.called), "")), "welcome");
    const auto relay = [](const Socket& from, const Socket& to, std::string* kept) {
      std::array<char, 4096> bytes;
      const ssize_t n = recv(from.descriptor(), bytes.data(), bytes.size(), 0);
      if (n <= 0) return;
      send(to.descriptor(), bytes.data(), size_t(n), MSG_NOSIGNAL);
      if (kept != nullptr) kept->append(bytes.data(), size_t(n));
    };
    while (caller.heard() != "welcome" || called.heard() != "hello") {
      caller.Advance();
      relay(outer.called, inner.caller, &recorded);
      called.Advance();
      relay(inner.caller, outer.called, nullptr);
      ASSERT_EQ(caller.status(), absl::OkStatus());
      ASSERT_EQ(called.status(), absl::OkStatus());
    }
  }
  const absl::Status fate = Fate(true, [&](Socket socket) {
    send(socket.descriptor(), recorded.data(), recorded.size(), MSG_NOSIGNAL);
    char byte = 0;
    pollfd descriptor = {socket.descriptor(), POLLIN, 0};
    do {
      poll(&descriptor, 1, -1);
    } while (recv(socket.descriptor(), &byte, 1, 0) > 0);
  });
  EXPECT_EQ(fate.code(), absl::StatusCode::kPermissionDenied) << fate;
}

TEST(TlsStreamTest, FilesThatAreWrongAreNamed) {
  const auto error = [](TlsFiles files) {
    const absl::Status status = TlsStreams(files).status();
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  };
  const std::string text = WriteText("text.pem", "no certificate", true);
  TlsFiles files = Good();
  files.key = text;
  EXPECT_THAT(error(files), HasSubstr(text + ": is not a private key"));
  files = Good();
  files.key = WriteText("open.key", TestAuthority().key);
  EXPECT_THAT(error(files), HasSubstr("open.key: other users may read"));
  files.key = WriteText("another.key", TestAuthority().key, true);
  EXPECT_THAT(error(files), HasSubstr("another.key: is"));
  files = Good();
  files.certificate = text;
  EXPECT_THAT(error(files), HasSubstr(text + ": is not a certificate"));
  files = Good();
  files.authority = text;
  EXPECT_THAT(error(files), HasSubstr(text + ": is not a certificate"));
  files.authority = "/no/such/file";
  EXPECT_THAT(error(files), HasSubstr("/no/such/file: expected a file with the authority's"));
}

TEST(AuthorityTest, NamesThatAreNoneAreRefused) {
  for (const char* name : {"", "a,IP:10.0.0.1", "-x", "a b", "a\n"}) {
    EXPECT_EQ(MakeHostCertificate(TestAuthority(), {"good", name}).status().code(),
              absl::StatusCode::kInvalidArgument)
        << name;
  }
  EXPECT_FALSE(MakeHostCertificate(TestAuthority(), {}).ok());
  EXPECT_FALSE(MakeHostCertificate({}, {"good"}).ok());
  const Certificate other = Must(MakeAuthority("other"));
  EXPECT_FALSE(MakeHostCertificate({TestAuthority().certificate, other.key}, {"good"}).ok());
}

}  // namespace
}  // namespace dtnn
