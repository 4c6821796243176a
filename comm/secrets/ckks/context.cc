#include "comm/secrets/ckks/context.h"

#include "comm/secrets/ckks/samplers.h"
#include "tensor/status_macros.h"

namespace dtnn::ckks {
namespace {

using Sampler = void (*)(ChaCha20Stream&, std::span<int64_t>);

WipedVector<uint64_t> Transformed(const CkksContext& context, ChaCha20Stream& stream,
                                  Sampler sample) {
  WipedVector<int64_t> small(context.parameters().degree());
  sample(stream, small);
  WipedVector<uint64_t> polynomial(context.size());
  context.AddSmall(polynomial, small);
  context.Forward(polynomial);
  return polynomial;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const CkksContext>> CkksContext::Create(
    const CkksParameters& parameters) {
  DTNN_RETURN_IF_ERROR(Validate(parameters));
  DTNN_ASSIGN_OR_RETURN(const std::vector<uint64_t> primes, ModulusPrimes(parameters));
  DTNN_ASSIGN_OR_RETURN(const Fingerprint fingerprint, FingerprintOf(parameters));
  return std::shared_ptr<const CkksContext>(new CkksContext(parameters, primes, fingerprint));
}

CkksContext::CkksContext(const CkksParameters& parameters, std::span<const uint64_t> primes,
                         const Fingerprint& fingerprint)
    : parameters_(parameters), fingerprint_(fingerprint), encoder_(parameters, primes) {
  for (const uint64_t prime : primes) ntts_.emplace_back(parameters.log2_degree, prime);
}

void CkksContext::Forward(std::span<uint64_t> polynomial) const {
  const size_t n = parameters_.degree();
  for (size_t k = 0; k < primes(); ++k) ntts_[k].Forward(polynomial.subspan(k * n, n));
}

void CkksContext::Inverse(std::span<uint64_t> polynomial) const {
  const size_t n = parameters_.degree();
  for (size_t k = 0; k < primes(); ++k) ntts_[k].Inverse(polynomial.subspan(k * n, n));
}

void CkksContext::AddTo(std::span<uint64_t> sum, std::span<const uint64_t> x) const {
  ForEach([&](const Modulus& q, size_t i) { sum[i] = q.Add(sum[i], x[i]); });
}

void CkksContext::AddSmall(std::span<uint64_t> polynomial, std::span<const int64_t> small) const {
  const size_t n = parameters_.degree();
  for (size_t k = 0; k < primes(); ++k) {
    const Modulus q = prime(k);
    uint64_t* const to = polynomial.data() + k * n;
    for (size_t i = 0; i < n; ++i) to[i] = q.Add(to[i], q.FromSigned(small[i]));
  }
}

void CkksContext::AddIntegers(std::span<uint64_t> polynomial,
                              std::span<const int64_t> integers) const {
  const size_t n = parameters_.degree();
  ForEach([&](const Modulus& q, size_t i) {
    polynomial[i] = q.Add(polynomial[i], q.ReduceSigned(integers[i % n]));
  });
}

absl::StatusOr<std::vector<uint64_t>> CkksContext::Expand(const Seed& seed) const {
  DTNN_ASSIGN_OR_RETURN(ChaCha20Stream stream, ChaCha20Stream::Create(seed));
  const size_t n = parameters_.degree();
  std::vector<uint64_t> polynomial(size());
  for (size_t k = 0; k < primes(); ++k) {
    SampleUniform(stream, prime(k), std::span(polynomial).subspan(k * n, n));
  }
  return polynomial;
}

Multiplier::Multiplier(const CkksContext& context, std::span<const uint64_t> polynomial)
    : values_(polynomial.begin(), polynomial.end()), quotients_(polynomial.size()) {
  context.ForEach(
      [&](const Modulus& q, size_t i) { quotients_[i] = q.Prepare(values_[i]).quotient; });
}

WipedVector<uint64_t> TransformedTernary(const CkksContext& context, ChaCha20Stream& stream) {
  return Transformed(context, stream, SampleTernary);
}

WipedVector<uint64_t> TransformedError(const CkksContext& context, ChaCha20Stream& stream) {
  return Transformed(context, stream, SampleError);
}

}  // namespace dtnn::ckks
