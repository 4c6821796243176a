#include "comm/secrets/crypto/ed25519_file.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "comm/secrets/crypto/openssl_error.h"
#include "tensor/errors.h"
#include "tensor/files/access/private_file.h"

namespace dtnn {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using BioPointer = std::unique_ptr<BIO, decltype(&BIO_free)>;

constexpr int64_t kMostBytes = 4096;

// No passphrase is asked for: a program that runs alone has no terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

}  // namespace

absl::StatusOr<Secret> ReadEd25519File(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, ReadPrivateFile(path, kMostBytes));
  const BioPointer text(BIO_new_mem_buf(bytes.data(), int(bytes.size())), BIO_free);
  const Key key(text == nullptr
                    ? nullptr
                    : PEM_read_bio_PrivateKey(text.get(), nullptr, NoPassphrase, nullptr),
                EVP_PKEY_free);
  explicit_bzero(bytes.data(), bytes.size());
  ERR_clear_error();
  Secret secret;
  size_t size = Secret::kSize;
  if (key == nullptr || EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519 ||
      EVP_PKEY_get_raw_private_key(key.get(), secret.bytes().data(), &size) != 1 ||
      size != Secret::kSize) {
    return InvalidArgument(path,
                           ": is not a private key of Ed25519 in PEM form, without a passphrase; "
                           "`openssl genpkey -algorithm ed25519` makes one");
  }
  return secret;
}

absl::Status WriteEd25519File(const std::string& path, const Secret& private_key) {
  const Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, private_key.bytes().data(),
                                             Secret::kSize),
                EVP_PKEY_free);
  const BioPointer bio(BIO_new(BIO_s_secmem()), BIO_free);
  if (key == nullptr || bio == nullptr ||
      PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return OpenSslError("write a private key of Ed25519");
  }
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return WritePrivateFile(path, {text, size_t(std::max(0L, size))});
}

}  // namespace dtnn
