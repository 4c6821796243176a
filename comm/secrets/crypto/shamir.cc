#include "comm/secrets/crypto/shamir.h"

#include <bitset>

#include "comm/secrets/crypto/chacha20_stream.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

// In the field of polynomials over GF(2) modulo x^8 + x^4 + x^3 + x + 1. No tables, whose cached
// lines would show what was looked up, and no branches.
uint8_t Multiply(uint8_t a, uint8_t b) {
  uint8_t product = 0;
  for (int bit = 0; bit < 8; ++bit) {
    product ^= uint8_t(a & uint8_t(0 - (b & 1)));
    a = uint8_t(uint8_t(a << 1) ^ (0x1b & uint8_t(0 - (a >> 7))));
    b = uint8_t(b >> 1);
  }
  return product;
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

absl::StatusOr<SharePolynomials> SharePolynomials::Through(std::span<const SecretShare> shares,
                                                           int threshold) {
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
  SharePolynomials polynomials;
  polynomials.shares_.assign(shares.begin(), shares.end());
  // Subtraction is addition is XOR here.
  for (const SecretShare& share : shares) {
    uint8_t product = 1;
    for (const SecretShare& other : shares) {
      if (other.index == share.index) continue;
      product = Multiply(product, PointOf(other.index) ^ PointOf(share.index));
    }
    polynomials.products_.push_back(product);
  }
  return polynomials;
}

// Lagrange's basis polynomial of a share, at x, is the product of (x - others' points), over that
// of (its point - others' points).
Secret SharePolynomials::At(uint8_t x) const {
  uint8_t all = 1;
  for (const SecretShare& share : shares_) all = Multiply(all, x ^ PointOf(share.index));
  Secret value;
  for (size_t k = 0; k < shares_.size(); ++k) {
    const uint8_t own = x ^ PointOf(shares_[k].index);  // not 0
    const uint8_t weight = Multiply(all, Inverse(Multiply(own, products_[k])));
    for (size_t b = 0; b < Secret::kSize; ++b) {
      value.bytes()[b] ^= Multiply(shares_[k].value.bytes()[b], weight);
    }
  }
  return value;
}

Secret SharePolynomials::Share(int index) const {
  for (const SecretShare& share : shares_) {
    if (share.index == index) return share.value;
  }
  return At(PointOf(index));
}

absl::StatusOr<Secret> RebuildSecret(std::span<const SecretShare> shares, int threshold) {
  DTNN_ASSIGN_OR_RETURN(const SharePolynomials polynomials,
                        SharePolynomials::Through(shares, threshold));
  return polynomials.secret();
}

}  // namespace dtnn
