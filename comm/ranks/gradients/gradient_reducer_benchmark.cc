// A step's exchange between threads: arenas of common networks in buckets of several sizes, with an
// optimizer's work, a pass over the bucket, behind each. GB/s counts the arena once;
// exposed_ms: of a step, inside the communicator.

#include <string>

#include "benchmark/benchmark.h"
#include "comm/local.h"
#include "comm/ranks/gradients/gradient_reducer.h"
#include "comm/testing/rounds.h"

namespace dtnn {
namespace {

// What follows the sum of a bucket: parameters take a step along it.
void Follow(const Tensor& parameters, const Tensor& gradients,
            const GradientReducer::Bucket& bucket) {
  float* w = parameters.data<float>();
  const float* g = gradients.data<float>();
  for (int64_t i = bucket.begin; i < bucket.end; ++i) w[i] -= 0.01f * g[i];
}

void BM_GradientReducer(benchmark::State& state) {
  const int ranks = int(state.range(0));
  const int64_t elements = state.range(1) / 4;
  const GradientReducerOptions options = {.bucket_bytes = state.range(2) << 10,
                                          .blocking = state.range(3) != 0};
  double exposed = 0;
  const absl::Status status = RunRanks(ranks, [&](Communicator& c) -> absl::Status {
    const absl::StatusOr<Tensor> gradients = Tensor::Zeros(DType::kFloat32, {elements});
    const absl::StatusOr<Tensor> parameters = Tensor::Zeros(DType::kFloat32, {elements});
    if (!gradients.ok() || !parameters.ok()) {
      return absl::ResourceExhaustedError("no memory");
    }
    GradientReducer reducer(c, DType::kFloat32, elements, options);
    const absl::Status done = testing::RunRounds(state, c, [&] {
      absl::Status s = reducer.Begin(*gradients);
      if (s.ok()) {
        s = reducer.Finish([&](size_t bucket) {
          Follow(*parameters, *gradients, reducer.buckets()[bucket]);
          return absl::OkStatus();
        });
      }
      return s;
    });
    if (c.rank() == 0) exposed = reducer.exposed_seconds() / double(reducer.steps());
    return done;
  });
  if (!status.ok()) state.SkipWithError(std::string(status.message()).c_str());
  state.counters["GB/s"] = benchmark::Counter(double(elements) * 4e-9 * double(state.iterations()),
                                              benchmark::Counter::kIsRate);
  state.counters["exposed_ms"] = exposed * 1e3;
}

// resnet20's, a common and vgg16's arena.
BENCHMARK(BM_GradientReducer)
    ->ArgNames({"ranks", "bytes", "bucket_kb", "blocking"})
    ->ArgsProduct({{2}, {1 << 20, 16 << 20, 60 << 20}, {256, 1024, 4096, 16384, 65536}, {0, 1}})
    ->UseRealTime();

}  // namespace
}  // namespace dtnn
