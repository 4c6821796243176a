#include "comm/secrets/ckks/primes.h"

#include <algorithm>
#include <bit>

#include "comm/secrets/ckks/modulus.h"
#include "tensor/errors.h"

namespace dtnn::ckks {
namespace {

constexpr uint64_t kBases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};

// Whether an odd n behaves like a prime towards `base`.
bool PassesMillerRabin(const Modulus& n, uint64_t base) {
  const uint64_t minus_one = n.value() - 1;
  const int twos = std::countr_zero(minus_one);
  uint64_t x = n.Power(base, minus_one >> twos);
  if (x == 1 || x == minus_one) return true;
  for (int i = 1; i < twos; ++i) {
    x = n.Multiply(x, x);
    if (x == minus_one) return true;
  }
  return false;
}

}  // namespace

bool IsPrime(uint64_t n) {
  if (n < 2) return false;
  for (const uint64_t base : kBases) {
    if (n % base == 0) return n == base;
  }
  const Modulus modulus(n);
  return std::ranges::all_of(kBases,
                             [&](uint64_t base) { return PassesMillerRabin(modulus, base); });
}

absl::StatusOr<std::vector<uint64_t>> TransformPrimes(int bits, uint64_t step, int count) {
  std::vector<uint64_t> primes;
  if (bits >= 2 && bits <= Modulus::kMaxBits && std::has_single_bit(step)) {
    const uint64_t lowest = uint64_t{1} << (bits - 1);
    const uint64_t top = (uint64_t{1} << bits) - 1;
    for (uint64_t n = (top - 1) / step * step + 1;
         n >= lowest && n > step && primes.size() < size_t(count); n -= step) {
      if (IsPrime(n)) primes.push_back(n);
    }
  }
  if (primes.size() < size_t(count)) {
    return InvalidArgument("there are only ", primes.size(), " primes of ", bits,
                           " bits that are 1 modulo ", step, ", fewer than ", count);
  }
  return primes;
}

uint64_t SmallestPrimitiveRoot(uint64_t order, uint64_t q) {
  const Modulus modulus(q);
  // x^((q-1)/order) has an order that divides `order`; for half of all x it is `order` itself.
  uint64_t root = 0;
  for (uint64_t x = 2; root == 0; ++x) {
    const uint64_t candidate = modulus.Power(x, (q - 1) / order);
    if (modulus.Power(candidate, order / 2) == q - 1) root = candidate;
  }
  // The others are its odd powers.
  const Factor square = modulus.Prepare(modulus.Multiply(root, root));
  uint64_t smallest = root;
  for (uint64_t k = 1; k < order / 2; ++k) {
    root = modulus.Multiply(root, square);
    smallest = std::min(smallest, root);
  }
  return smallest;
}

}  // namespace dtnn::ckks
