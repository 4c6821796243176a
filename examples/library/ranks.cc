// A session on several processes that mpirun started: the program of docs/library.md.
//
//   mpirun -n 2 bazel-bin/examples/library/ranks

#include <cstdio>
#include <iostream>

#include "comm/ranks/job/rank_process.h"
#include "data/loading/open_dataset.h"
#include "models/session/session.h"
#include "tensor/must.h"

using namespace dtnn;  // NOLINT

// [ranks]
absl::Status Train(Communicator& communicator) {
  auto data =
      Must(OpenDataset("synthetic", {.synthetic = {.pattern = SyntheticPattern::kClasses}}));
  auto session =
      Must(Session::Create(Network::Zoo("simplecnn", *data), {.communicator = &communicator}));
  Must(session->Fit(*data, {.epochs = 2, .batch = 32}));
  const double accuracy = Must(session->Evaluate(*data))["categorical_accuracy"];
  if (communicator.rank() == 0) std::printf("test accuracy %.1f %%\n", accuracy);
  return session->Save("ranks.safetensors");  // rank 0 writes
}

int main() {
  const absl::Status status =
      RunAsRank(FindLaunchPlace(), {.program = "ranks"}, std::cout, std::cerr, Train);
  return status.ok() ? 0 : 1;
}
// [/ranks]
