#include "comm/secrets/crypto/ed25519.h"

#include <openssl/bn.h>
#include <openssl/evp.h>

#include <algorithm>
#include <memory>

#include "absl/strings/escaping.h"
#include "comm/secrets/crypto/openssl_error.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Context = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;
using Number = std::unique_ptr<BIGNUM, decltype(&BN_free)>;

constexpr size_t kTextSize = 44;

absl::StatusOr<Key> PrivateKey(const Secret& secret) {
  Key key(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, secret.bytes().data(), Secret::kSize),
      EVP_PKEY_free);
  if (key == nullptr) return OpenSslError("use a private key of Ed25519");
  return key;
}

// The coordinates y of the eight points of small order, little endian.
constexpr std::array<std::string_view, 5> kSmallOrders = {
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
};

// Whether y is below p = 2^255 - 19, and (y^2 - 1) / (d y^2 + 1), d = -121665 / 121666, is a square
// there, that of x. So is then the product of both after multiplication by 121666, also with the
// other sign, since -1 is a square.
absl::StatusOr<bool> IsOnCurve(std::span<const uint8_t> y_bytes) {
  const std::unique_ptr<BN_CTX, decltype(&BN_CTX_free)> context(BN_CTX_new(), BN_CTX_free);
  const Number p(BN_new(), BN_free), y(BN_new(), BN_free), above(BN_new(), BN_free),
      below(BN_new(), BN_free);
  BN_CTX* const c = context.get();
  if (c == nullptr || p == nullptr || y == nullptr || above == nullptr || below == nullptr ||
      BN_set_bit(p.get(), 255) != 1 || BN_sub_word(p.get(), 19) != 1 ||
      BN_lebin2bn(y_bytes.data(), int(y_bytes.size()), y.get()) == nullptr) {
    return OpenSslError("compute with large numbers");
  }
  if (BN_cmp(y.get(), p.get()) >= 0) return false;
  // above = 121666 (y^2 - 1), below = 121665 y^2 - 121666.
  if (BN_mod_sqr(y.get(), y.get(), p.get(), c) != 1 || BN_copy(above.get(), y.get()) == nullptr ||
      BN_copy(below.get(), y.get()) == nullptr || BN_sub_word(above.get(), 1) != 1 ||
      BN_mul_word(above.get(), 121666) != 1 || BN_mul_word(below.get(), 121665) != 1 ||
      BN_sub_word(below.get(), 121666) != 1) {
    return OpenSslError("compute with large numbers");
  }
  if (BN_mod_mul(above.get(), above.get(), below.get(), p.get(), c) != 1) {
    return OpenSslError("compute with large numbers");
  }
  const int symbol = BN_kronecker(above.get(), p.get(), c);
  if (symbol < -1) return OpenSslError("compute with large numbers");
  return symbol >= 0;
}

}  // namespace

absl::StatusOr<Ed25519PublicKey> Ed25519PublicKeyOf(const Secret& private_key) {
  DTNN_ASSIGN_OR_RETURN(const Key key, PrivateKey(private_key));
  Ed25519PublicKey result;
  size_t size = result.size();
  if (EVP_PKEY_get_raw_public_key(key.get(), result.data(), &size) != 1 || size != result.size()) {
    return OpenSslError("compute a public key of Ed25519");
  }
  return result;
}

absl::StatusOr<Ed25519Signature> Ed25519Sign(const Secret& private_key,
                                             std::span<const uint8_t> message) {
  DTNN_ASSIGN_OR_RETURN(const Key key, PrivateKey(private_key));
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  Ed25519Signature signature;
  size_t size = signature.size();
  if (context == nullptr ||
      EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, message.data(), message.size()) != 1 ||
      size != signature.size()) {
    return OpenSslError("sign with Ed25519");
  }
  return signature;
}

absl::StatusOr<bool> Ed25519Verifies(const Ed25519PublicKey& key, std::span<const uint8_t> message,
                                     const Ed25519Signature& signature) {
  const Key public_key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(), key.size()),
      EVP_PKEY_free);
  const Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (public_key == nullptr || context == nullptr ||
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, public_key.get()) != 1) {
    return OpenSslError("check a signature of Ed25519");
  }
  const int verified = EVP_DigestVerify(context.get(), signature.data(), signature.size(),
                                        message.data(), message.size());
  ERR_clear_error();  // of a signature that is wrong
  return verified == 1;
}

absl::Status CheckEd25519PublicKey(const Ed25519PublicKey& key) {
  Ed25519PublicKey y = key;
  y.back() &= 0x7f;  // the sign of x
  const std::string text =
      absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(y.data()), y.size()));
  if (std::ranges::count(kSmallOrders, text) > 0) {
    return absl::InvalidArgumentError("is a point of small order, with which anybody can sign");
  }
  DTNN_ASSIGN_OR_RETURN(const bool on_curve, IsOnCurve(y));
  if (on_curve) return absl::OkStatus();
  return absl::InvalidArgumentError("is not a public key of Ed25519: no point of its curve");
}

std::string ToText(const Ed25519PublicKey& key) {
  return absl::Base64Escape(
      absl::string_view(reinterpret_cast<const char*>(key.data()), key.size()));
}

absl::StatusOr<Ed25519PublicKey> Ed25519PublicKeyFromText(std::string_view text) {
  std::string bytes;
  Ed25519PublicKey key;
  const bool decoded = text.size() == kTextSize &&
                       absl::Base64Unescape({text.data(), text.size()}, &bytes) &&
                       bytes.size() == key.size();
  if (decoded) std::ranges::copy(bytes, key.begin());
  // The decoder forgives spaces and bits after the end.
  if (!decoded || ToText(key) != text) {
    return InvalidArgument("is not the ", kTextSize,
                           " characters in base64 of a public key: ", Quoted(text, kTextSize));
  }
  DTNN_RETURN_IF_ERROR(CheckEd25519PublicKey(key));
  return key;
}

}  // namespace dtnn
