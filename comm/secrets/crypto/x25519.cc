#include "comm/secrets/crypto/x25519.h"

#include <openssl/evp.h>

#include <memory>

#include "comm/secrets/crypto/openssl_error.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

absl::StatusOr<Key> PrivateKey(const Secret& secret) {
  Key key(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, secret.bytes().data(), Secret::kSize),
      EVP_PKEY_free);
  if (key == nullptr) return OpenSslError("use a private key of X25519");
  return key;
}

}  // namespace

absl::StatusOr<X25519PublicKey> X25519PublicKeyOf(const Secret& private_key) {
  DTNN_ASSIGN_OR_RETURN(const Key key, PrivateKey(private_key));
  X25519PublicKey result;
  size_t size = result.size();
  if (EVP_PKEY_get_raw_public_key(key.get(), result.data(), &size) != 1 || size != result.size()) {
    return OpenSslError("compute a public key of X25519");
  }
  return result;
}

absl::StatusOr<Secret> X25519Agree(const Secret& private_key, const X25519PublicKey& peer) {
  DTNN_ASSIGN_OR_RETURN(const Key mine, PrivateKey(private_key));
  const Key yours(EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, peer.data(), peer.size()),
                  EVP_PKEY_free);
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new(mine.get(), nullptr), EVP_PKEY_CTX_free);
  Secret agreed;
  size_t size = Secret::kSize;
  if (yours == nullptr || context == nullptr || EVP_PKEY_derive_init(context.get()) != 1 ||
      EVP_PKEY_derive_set_peer(context.get(), yours.get()) != 1 ||
      EVP_PKEY_derive(context.get(), agreed.bytes().data(), &size) != 1 || size != Secret::kSize) {
    return absl::InvalidArgumentError(
        OpenSslError("agree with the peer's X25519 key, which is not a valid one").message());
  }
  return agreed;
}

}  // namespace dtnn
