#include <vector>

#include "benchmark/benchmark.h"
#include "comm/secrets/crypto/chacha20_stream.h"
#include "comm/secrets/crypto/hash.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/crypto/sealed_message.h"
#include "comm/secrets/crypto/shamir.h"
#include "comm/secrets/crypto/x25519.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

void BM_ChaCha20Stream(benchmark::State& state) {
  ChaCha20Stream stream = Must(ChaCha20Stream::Random());
  std::vector<uint8_t> bytes(size_t(state.range(0)));
  for (auto _ : state) stream.Fill(bytes);
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_ChaCha20Stream)->Arg(64)->Arg(65536);

void BM_NewChaCha20Stream(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(ChaCha20Stream::Random());
}
BENCHMARK(BM_NewChaCha20Stream);

void BM_MakeTag(benchmark::State& state) {
  const Secret key = Must(RandomSecret());
  const std::vector<uint8_t> body(size_t(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(MakeTag(key, {}, body));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_MakeTag)->Arg(64)->Arg(65536);

void BM_DeriveSecret(benchmark::State& state) {
  const Secret key = Must(RandomSecret());
  for (auto _ : state) benchmark::DoNotOptimize(DeriveSecret(key, "benchmark"));
}
BENCHMARK(BM_DeriveSecret);

void BM_X25519Agree(benchmark::State& state) {
  const Secret key = Must(RandomSecret());
  const X25519PublicKey peer = Must(X25519PublicKeyOf(Must(RandomSecret())));
  for (auto _ : state) benchmark::DoNotOptimize(X25519Agree(key, peer));
}
BENCHMARK(BM_X25519Agree);

void BM_SplitSecret(benchmark::State& state) {
  const Secret secret = Must(RandomSecret());
  const int shares = int(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(SplitSecret(secret, 2 * shares / 3 + 1, shares));
}
BENCHMARK(BM_SplitSecret)->Arg(4)->Arg(30)->Arg(255);

void BM_RebuildSecret(benchmark::State& state) {
  const int shares = int(state.range(0)), threshold = 2 * shares / 3 + 1;
  const std::vector<SecretShare> all = Must(SplitSecret(Must(RandomSecret()), threshold, shares));
  for (auto _ : state) benchmark::DoNotOptimize(RebuildSecret(all, threshold));
}
BENCHMARK(BM_RebuildSecret)->Arg(4)->Arg(30)->Arg(255);

}  // namespace
}  // namespace dtnn
