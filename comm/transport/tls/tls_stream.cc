#include "comm/transport/tls/tls_stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "comm/transport/meeting/handshake.h"
#include "comm/transport/tcp/socket.h"
#include "comm/transport/tls/tls_error.h"
#include "tensor/errors.h"
#include "tensor/files/access/private_file.h"

namespace dtnn {
namespace {

// Certificates between a host's and the authority's.
constexpr int kMostDepth = 3;
// For all certificates that the other end shows: room for a few of the largest keys.
constexpr int kMostCertificateBytes = 16 << 10;

using Context = std::shared_ptr<SSL_CTX>;

class Tls : public Stream {
 public:
  Tls(Socket socket, std::unique_ptr<SSL, decltype(&SSL_free)> ssl, std::string other_end)
      : socket_(std::move(socket)), ssl_(std::move(ssl)), other_end_(std::move(other_end)) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    if (unheard_) DTNN_RETURN_IF_ERROR(RefusePlain());
    size_t n = 0;
    Prepare();
    if (SSL_read_ex(ssl_.get(), into.data(), into.size(), &n) == 1) {
      read_waits_to_write_ = false;
      return n;
    }
    return Handle(SSL_get_error(ssl_.get(), 0), /*reading=*/true);
  }

  absl::StatusOr<size_t> Write(std::span<const std::span<const std::byte>> from) override {
    size_t total = 0;
    for (std::span<const std::byte> range : from) {
      while (!range.empty()) {
        size_t n = 0;
        Prepare();
        if (SSL_write_ex(ssl_.get(), range.data(), range.size(), &n) != 1) {
          const absl::StatusOr<size_t> handled =
              Handle(SSL_get_error(ssl_.get(), 0), /*reading=*/false);
          if (handled.ok() || total > 0) return total;
          return handled;
        }
        write_waits_to_read_ = false;
        total += n;
        range = range.subspan(n);
      }
    }
    return total;
  }

  void CloseWriting() override {
    Prepare();
    if (SSL_is_init_finished(ssl_.get())) SSL_shutdown(ssl_.get());
    shutdown(descriptor(), SHUT_WR);
  }

  void KeepBuffersShort() override { socket_.KeepBuffersShort(); }
  void KeepUnsentShort() override { socket_.KeepUnsentShort(); }
  int descriptor() const override { return socket_.descriptor(); }
  bool wants_to_write() const override { return read_waits_to_write_; }
  bool writes_after_reading() const override { return write_waits_to_read_; }

  // As RFC 9266 has it.
  absl::StatusOr<std::vector<uint8_t>> binding() const override {
    constexpr std::string_view kLabel = "EXPORTER-Channel-Binding";
    std::vector<uint8_t> bytes(32);
    if (SSL_is_init_finished(ssl_.get()) != 1 ||
        SSL_export_keying_material(ssl_.get(), bytes.data(), bytes.size(), kLabel.data(),
                                   kLabel.size(), nullptr, 0, 0) != 1) {
      return WithContext(OpenSslReason(), "TLS: no binding of the connection to ", other_end_);
    }
    return bytes;
  }

 private:
  // A caller without TLS would only see a closed connection: this sends the reason.
  absl::Status RefusePlain() {
    std::array<char, 4> begin;
    const ssize_t n = recv(descriptor(), begin.data(), begin.size(), MSG_PEEK | MSG_DONTWAIT);
    if (n <= 0) return absl::OkStatus();
    unheard_ = false;
    if (!Handshake::CallsWithoutTls({begin.data(), size_t(n)})) return absl::OkStatus();
    const std::string answer = Handshake::NeedsTls();
    send(descriptor(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return absl::PermissionDeniedError(StrCat(
        "TLS: ", other_end_, " calls without TLS; start all with PYMPI_SSL=yes, or all without"));
  }

  static void Prepare() {
    ERR_clear_error();
    errno = 0;
  }

  // 0 where it continues later.
  absl::StatusOr<size_t> Handle(int error, bool reading) {
    const int system_error = errno;
    switch (error) {
      case SSL_ERROR_WANT_READ:
        (reading ? read_waits_to_write_ : write_waits_to_read_) = !reading;
        return size_t{0};
      case SSL_ERROR_WANT_WRITE:
        (reading ? read_waits_to_write_ : write_waits_to_read_) = reading;
        return size_t{0};
      case SSL_ERROR_ZERO_RETURN:
        return absl::OutOfRangeError("closed by the other side");
      default:
        return TlsError(ssl_.get(), error, system_error, other_end_);
    }
  }

  const Socket socket_;
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  const std::string other_end_;
  bool unheard_ = SSL_is_server(ssl_.get()) == 1;  // nothing has come from the caller
  bool read_waits_to_write_ = false, write_waits_to_read_ = false;
};

absl::Status FileError(const std::string& path, std::string_view what) {
  return WithContext(OpenSslReason(), path, ": ", what);
}

absl::Status CheckFile(const std::string& path, std::string_view what) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::is_regular_file(status)) return absl::OkStatus();
  return InvalidArgument(path, ": expected a file with ", what, " in PEM form",
                         error ? ": " + error.message() : "");
}

// OpenSSL writes to connections that the other end has closed.
void IgnoreBrokenPipes() {
  struct sigaction before = {};
  sigaction(SIGPIPE, nullptr, &before);
  if (before.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
}

absl::StatusOr<Context> MakeContext(const TlsFiles& files) {
  DTNN_RETURN_IF_ERROR(CheckFile(files.authority, "the authority's certificate"));
  DTNN_RETURN_IF_ERROR(CheckFile(files.certificate, "this host's certificate"));
  DTNN_RETURN_IF_ERROR(CheckFile(files.key, "this host's private key"));
  DTNN_RETURN_IF_ERROR(CheckPrivateFile(files.key));
  ERR_clear_error();
  const Context context(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  if (context == nullptr) return OpenSslReason();
  SSL_CTX* const c = context.get();
  if (SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION) != 1 || SSL_CTX_set_num_tickets(c, 0) != 1) {
    return WithContext(OpenSslReason(), "TLS: cannot be limited to version 1.3 without tickets");
  }
  SSL_CTX_set_max_cert_list(c, kMostCertificateBytes);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                          SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(c, 1);
  SSL_CTX_set_verify_depth(c, kMostDepth);
  SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  // No passphrase is asked for: a rank has no terminal.
  SSL_CTX_set_default_passwd_cb(c, [](char*, int, int, void*) { return -1; });
  if (SSL_CTX_load_verify_locations(c, files.authority.c_str(), nullptr) != 1) {
    return FileError(files.authority, "is not a certificate in PEM form");
  }
  if (SSL_CTX_use_certificate_chain_file(c, files.certificate.c_str()) != 1) {
    return FileError(files.certificate, "is not a certificate in PEM form");
  }
  if (SSL_CTX_use_PrivateKey_file(c, files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return FileError(files.key,
                     "is not a private key without a passphrase in PEM form, or not that of " +
                         files.certificate);
  }
  if (SSL_CTX_check_private_key(c) != 1) {
    return FileError(files.key, "is not the key of " + files.certificate);
  }
  return context;
}

bool IsNumeric(const std::string& host) {
  ASN1_OCTET_STRING* const address = a2i_IPADDRESS(host.c_str());
  ASN1_OCTET_STRING_free(address);
  return address != nullptr;
}

std::string NameAt(const std::string& host, X509* own) {
  constexpr char kLocal[] = "localhost";
  if (!IsNumeric(host) || !IsLoopback(host) || own == nullptr) return host;
  const bool for_address = X509_check_ip_asc(own, host.c_str(), 0) == 1;
  const bool for_host =
      X509_check_host(own, kLocal, 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, nullptr) == 1;
  return !for_address && for_host ? kLocal : host;
}

// What the other end's certificate must be for.
bool ExpectName(SSL* ssl, const std::string& host) {
  if (IsNumeric(host)) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1;
  }
  SSL_set_hostflags(ssl,
                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return SSL_set1_host(ssl, host.c_str()) == 1 && SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
}

absl::StatusOr<std::unique_ptr<Stream>> Make(const Context& context, Socket socket,
                                             const std::string& called) {
  ERR_clear_error();
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), SSL_free);
  if (ssl == nullptr || SSL_set_fd(ssl.get(), socket.descriptor()) != 1) return OpenSslReason();
  std::string name = called;
  if (called.empty()) {
    DTNN_ASSIGN_OR_RETURN(const Endpoint peer, socket.Peer());
    name = peer.host;
    SSL_set_accept_state(ssl.get());
  } else {
    SSL_set_connect_state(ssl.get());
  }
  name = NameAt(name, SSL_CTX_get0_certificate(context.get()));
  // Without a name none would be checked.
  if (name.empty() || !ExpectName(ssl.get(), name)) {
    return InvalidArgument("TLS: ", Quoted(name), " cannot be the name of a host");
  }
  return std::make_unique<Tls>(std::move(socket), std::move(ssl), std::move(name));
}

}  // namespace

absl::StatusOr<StreamMaker> TlsStreams(const TlsFiles& files) {
  DTNN_ASSIGN_OR_RETURN(const Context context, MakeContext(files));
  IgnoreBrokenPipes();
  return StreamMaker([context](Socket socket, const std::string& host) {
    return Make(context, std::move(socket), host);
  });
}

absl::StatusOr<std::string> ExpectedName(const TlsFiles& files, const std::string& host) {
  DTNN_ASSIGN_OR_RETURN(const Context context, MakeContext(files));
  return NameAt(host, SSL_CTX_get0_certificate(context.get()));
}

}  // namespace dtnn
