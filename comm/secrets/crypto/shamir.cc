#include "comm/secrets/crypto/shamir.h"

#include <bitset>

#include "comm/secrets/crypto/chacha20_stream.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// In the field of polynomials over GF(2) modulo x^8 + x^4 + x^3 + x + 1. No tables, whose cached
// lines would show what was looked up, and no branches.
uint8_t Multiply(uint8_t a, uint8_t b) {
  unsigned product = 0, shifted = a;
  for (int bit = 0; bit < 8; ++bit) {
    product ^= shifted & (0u - ((unsigned{b} >> bit) & 1u));
    shifted = (shifted << 1) ^ (0x11bu & (0u - (shifted >> 7)));
  }
  return uint8_t(product);
}

// a^254, the inverse of a unless it is zero.
uint8_t Inverse(uint8_t a) {
  uint8_t power = a;
  for (int i = 0; i < 6; ++i) power = Multiply(Multiply(power, power), a);
  return Multiply(power, power);
}

uint8_t PointOf(int index) { return uint8_t(index + 1); }

}  // namespace

absl::StatusOr<std::vector<SecretShare>> SplitSecret(const Secret& secret, int threshold,
                                                     int shares) {
  if (threshold < 1 || threshold > shares || shares > kMaxShares) {
    return InvalidArgument("cannot make ", shares, " shares of which any ", threshold,
                           " give the secret back: needs 1 <= threshold <= shares <= ", kMaxShares);
  }
  DTNN_ASSIGN_OR_RETURN(ChaCha20Stream random, ChaCha20Stream::Random());
  std::vector<Secret> coefficients(static_cast<size_t>(threshold));
  coefficients[0] = secret;
  for (size_t k = 1; k < coefficients.size(); ++k) random.Fill(coefficients[k].bytes());

  std::vector<SecretShare> result(static_cast<size_t>(shares));
  for (int i = 0; i < shares; ++i) {
    SecretShare& share = result[size_t(i)];
    share.index = i;
    const std::span<uint8_t> value = share.value.bytes();
    // Horner's rule, from the highest coefficient.
    for (size_t k = coefficients.size(); k-- > 0;) {
      for (size_t b = 0; b < Secret::kSize; ++b) {
        value[b] = Multiply(value[b], PointOf(i)) ^ coefficients[k].bytes()[b];
      }
    }
  }
  return result;
}

absl::StatusOr<Secret> RebuildSecret(std::span<const SecretShare> shares, int threshold) {
  if (threshold < 1 || shares.size() < size_t(threshold)) {
    return InvalidArgument("cannot rebuild a secret from ", shares.size(), " shares: needs ",
                           threshold);
  }
  shares = shares.first(size_t(threshold));
  std::bitset<kMaxShares> seen;
  for (const SecretShare& share : shares) {
    if (share.index < 0 || share.index >= kMaxShares || seen[size_t(share.index)]) {
      return InvalidArgument("cannot rebuild a secret: share ", share.index,
                             " comes twice or does not exist");
    }
    seen[size_t(share.index)] = true;
  }
  Secret secret;
  for (const SecretShare& share : shares) {
    // Lagrange's basis polynomial of the share, at zero. Subtraction is addition is XOR here.
    uint8_t weight = 1;
    for (const SecretShare& other : shares) {
      if (other.index == share.index) continue;
      const uint8_t x = PointOf(other.index);
      weight = Multiply(weight, Multiply(x, Inverse(x ^ PointOf(share.index))));
    }
    for (size_t b = 0; b < Secret::kSize; ++b) {
      secret.bytes()[b] ^= Multiply(weight, share.value.bytes()[b]);
    }
  }
  return secret;
}

}  // namespace dtnn
