// An aggregator and its clients as processes that tests start, with parts of a data set of their
// own.

#ifndef DTNN_APPS_AGGREGATOR_TESTING_FEDERATION_PROGRAMS_H_
#define DTNN_APPS_AGGREGATOR_TESTING_FEDERATION_PROGRAMS_H_

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "apps/testing/process.h"
#include "comm/transport/tcp/socket.h"
#include "data/testing/idx_files.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::testing {

inline constexpr char kAggregator[] = "apps/aggregator/aggregator";
inline constexpr char kClient[] = "apps/benchmark";

class FederationPrograms : public ::testing::Test {
 protected:
  FederationPrograms() : folder_(NewFolder("federation")) {
    setenv("DTNN_JOB_SECRET", std::string(40, 'q').c_str(), 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    // Free now, and with luck still when the aggregator listens there.
    const Socket socket = Must(Listen({.host = "127.0.0.1", .port = 0}));
    address_ = Must(socket.Local()).ToString();
  }

  std::unique_ptr<Process> Aggregator(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"--model=simplecnn8", "--dataset=mnist",
                                          "--address=" + address_, "--deadline=120",
                                          "--comm-timeout=60"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return std::make_unique<Process>(kAggregator, arguments);
  }

  // The client with the k-th part.
  std::unique_ptr<Process> Client(int k, std::vector<std::string> more = {}, int samples = 320) {
    std::vector<std::string> arguments = {
        "--model=simplecnn8",
        "--dataset=synthetic",
        "--synthetic-pattern=classes",
        "--synthetic-input-shape=1,28,28",
        "--synthetic-output-shape=10",
        "--synthetic-train-samples=" + std::to_string(samples),
        "--synthetic-test-samples=50",
        "--validation-split=0",
        "--batch-size=16",
        "--learning-rate=0.05",
        "--comm-timeout=60",
        "--parallel=federated",
        "--server=" + address_,
        "--client-name=client-" + std::to_string(k),
        "--dataset-part=" + std::to_string(k) + "/4",
        "--save-model=" + folder_ + "/client-" + std::to_string(k) + ".npz"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return std::make_unique<Process>(kClient, arguments);
  }

  const std::string folder_;
  std::string address_;
};

}  // namespace dtnn::testing

#endif  // DTNN_APPS_AGGREGATOR_TESTING_FEDERATION_PROGRAMS_H_
