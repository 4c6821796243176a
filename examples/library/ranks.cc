// A run on several processes that mpirun started: the program of docs/library.md.
//
//   mpirun -n 2 bazel-bin/examples/library/ranks        (installed: CMakeLists.txt builds it)

#include <cstdio>
#include <iostream>

#include "comm/ranks/job/rank_process.h"
#include "data/loading/open_dataset.h"
#include "models/run/run.h"
#include "tensor/must.h"

using namespace dtnn;  // NOLINT

// [ranks]
absl::Status Train(Communicator& communicator) {
  auto data =
      Must(OpenDataset("synthetic", {.synthetic = {.pattern = SyntheticPattern::kClasses}}));
  const RunOptions options = {.training = {.batch = 32, .epochs = 2},
                              .optimizer = {.name = "adam", .learning_rate = 0.001, .beta1 = 0.9},
                              .ranks = {.parallel = Parallel::kData}};
  auto run = Must(Run::Create(options, {.network = Network::Zoo("simplecnn", *data),
                                        .dataset = data,
                                        .communicator = &communicator}));
  Must(run->Fit());
  const double accuracy = Must(run->Evaluate())["categorical_accuracy"];
  if (communicator.rank() == 0) std::printf("test accuracy %.1f %%\n", accuracy);
  return run->Save("ranks.safetensors");  // rank 0 writes
}

int main() {
  const absl::Status status =
      RunAsRank(FindLaunchPlace(), {.program = "ranks"}, std::cout, std::cerr, Train);
  return status.ok() ? 0 : 1;
}
// [/ranks]
