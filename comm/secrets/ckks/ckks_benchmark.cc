#include <vector>

#include "benchmark/benchmark.h"
#include "comm/secrets/ckks/cipher.h"
#include "comm/secrets/ckks/ntt.h"
#include "comm/secrets/ckks/samplers.h"
#include "comm/secrets/crypto/random_secret.h"
#include "tensor/must.h"

namespace dtnn::ckks {
namespace {

void BM_NttForward(benchmark::State& state) {
  const int log2_degree = int(state.range(0));
  const CkksParameters parameters{.log2_degree = log2_degree, .security = 0};
  const Ntt ntt(log2_degree, Must(ModulusPrimes(parameters))[0]);
  std::vector<uint64_t> polynomial(ntt.degree(), 12345);
  for (auto _ : state) ntt.Forward(polynomial);
}
BENCHMARK(BM_NttForward)->Arg(12)->Arg(13)->Arg(14);

void BM_NttInverse(benchmark::State& state) {
  const Ntt ntt(13, Must(ModulusPrimes({}))[0]);
  std::vector<uint64_t> polynomial(ntt.degree(), 12345);
  for (auto _ : state) ntt.Inverse(polynomial);
}
BENCHMARK(BM_NttInverse);

void BM_Sample(benchmark::State& state, void (*sample)(ChaCha20Stream&, std::span<int64_t>)) {
  ChaCha20Stream stream = Must(ChaCha20Stream::Random());
  std::vector<int64_t> small(8192);
  for (auto _ : state) sample(stream, small);
}
BENCHMARK_CAPTURE(BM_Sample, ternary, SampleTernary);
BENCHMARK_CAPTURE(BM_Sample, error, SampleError);
BENCHMARK_CAPTURE(BM_Sample, gaussian, [](ChaCha20Stream& stream, std::span<int64_t> integers) {
  SampleGaussian(stream, 0x1p40, integers);
});

void BM_SampleUniform(benchmark::State& state) {
  const Modulus q(Must(ModulusPrimes({}))[0]);
  ChaCha20Stream stream = Must(ChaCha20Stream::Random());
  std::vector<uint64_t> residues(8192);
  for (auto _ : state) SampleUniform(stream, q, residues);
}
BENCHMARK(BM_SampleUniform);

// One ciphertext of the default parameters (scale 2^40, one prime), or of scale 2^61 (two).
struct Fixture {
  explicit Fixture(const benchmark::State& state)
      : context(Must(CkksContext::Create(
            {.log2_scale = int(state.range(0)), .packing = Packing(state.range(1))}))),
        key(Must(SecretKey::FromSeed(*context, Must(RandomSecret())))),
        public_key(Must(MakePublicKey(*context, key))),
        values(context->parameters().values(), 0.25f) {}

  std::shared_ptr<const CkksContext> context;
  SecretKey key;
  PublicKey public_key;
  std::vector<float> values;
};

void AllParameters(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"scale", "slots"});
  for (const int scale : {40, 61}) {
    for (const int slots : {0, 1}) benchmark->Args({scale, slots});
  }
}

void SetValues(benchmark::State& state, const Fixture& f) {
  state.SetItemsProcessed(state.iterations() * int64_t(f.values.size()));
}

void BM_EncryptSecretKey(benchmark::State& state) {
  Fixture f(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(Encrypt(*f.context, f.key, std::span<const float>(f.values), 1));
  }
  SetValues(state, f);
}
BENCHMARK(BM_EncryptSecretKey)->Apply(AllParameters);

void BM_EncryptPublicKey(benchmark::State& state) {
  Fixture f(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        Encrypt(*f.context, f.public_key, std::span<const float>(f.values), 1));
  }
  SetValues(state, f);
}
BENCHMARK(BM_EncryptPublicKey)->Apply(AllParameters);

void BM_Add(benchmark::State& state) {
  Fixture f(state);
  const Ciphertext x = Must(Encrypt(*f.context, f.public_key, std::span<const float>(f.values), 1));
  Ciphertext sum = x;
  for (auto _ : state) {
    sum.summands = 1;
    Must(Add(*f.context, sum, x));
  }
  SetValues(state, f);
}
BENCHMARK(BM_Add)->Apply(AllParameters);

void BM_Decrypt(benchmark::State& state) {
  Fixture f(state);
  const Ciphertext x = Must(Encrypt(*f.context, f.public_key, std::span<const float>(f.values), 1));
  for (auto _ : state) Must(Decrypt(*f.context, f.key, x, std::span(f.values)));
  SetValues(state, f);
}
BENCHMARK(BM_Decrypt)->Apply(AllParameters);

void BM_ToBytesAndBack(benchmark::State& state) {
  Fixture f(state);
  const Ciphertext x = Must(Encrypt(*f.context, f.public_key, std::span<const float>(f.values), 1));
  for (auto _ : state) {
    benchmark::DoNotOptimize(CiphertextFromBytes(*f.context, ToBytes(*f.context, x)));
  }
  SetValues(state, f);
}
BENCHMARK(BM_ToBytesAndBack)->Apply(AllParameters);

}  // namespace
}  // namespace dtnn::ckks
