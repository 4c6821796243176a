// An aggregator and its clients as programs, on this host.

#ifndef DTNN_APPS_AGGREGATOR_TESTING_FEDERATION_PROGRAMS_H_
#define DTNN_APPS_AGGREGATOR_TESTING_FEDERATION_PROGRAMS_H_

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "apps/testing/process.h"
#include "comm/transport/tcp/socket.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/serving/saved_model.h"
#include "tensor/files/access/private_file.h"
#include "tensor/files/array_file.h"
#include "tensor/must.h"

namespace dtnn::testing {

inline constexpr char kAggregator[] = "apps/aggregator/aggregator";
inline constexpr char kClient[] = "apps/benchmark";
inline const std::string kKeyText = "the key that only clients have: 0123456789abcdef";

class FederationPrograms : public ::testing::Test {
 protected:
  FederationPrograms() : folder_(NewFolder("federation")) {
    setenv("DTNN_JOB_SECRET", std::string(40, 'q').c_str(), 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    // Free now, and with luck still when the aggregator listens there.
    const Socket socket = Must(Listen({.host = "127.0.0.1", .port = 0}));
    address_ = Must(socket.Local()).ToString();
    Must(WritePrivateFile(folder_ + "/key", kKeyText));
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

  // A client with a folder or an archive of its own.
  std::unique_ptr<Process> OwnClient(const std::string& name, const std::string& dataset,
                                     const std::string& path, const std::string& rate = "0.05") {
    const std::vector<std::string> arguments = {
        "--model=simplecnn8",      "--dataset=" + dataset,
        "--dataset-path=" + path,  "--validation-split=0",
        "--batch-size=8",          "--num-epochs=2",
        "--learning-rate=" + rate, "--comm-timeout=60",
        "--parallel=federated",    "--server=" + address_,
        "--client-name=" + name,   "--save-model=" + folder_ + "/" + name + ".safetensors"};
    return std::make_unique<Process>(kClient, arguments);
  }
  std::unique_ptr<Process> OwnAggregator(std::vector<std::string> more) {
    more.insert(more.end(), {"--address=" + address_, "--deadline=120", "--comm-timeout=60"});
    return std::make_unique<Process>(kAggregator, more);
  }
  std::vector<std::string> ClassesOf(const std::string& name) {
    ArrayFileReader file = Must(ArrayFileReader::Open(folder_ + "/" + name));
    return Must(ReadModel(file)).description.class_names;
  }

  // All parameters of a file whose names have `part` in them, in its order.
  std::vector<float> Parameters(const std::string& name, std::string_view part = "") {
    ArrayFileReader file = Must(ArrayFileReader::Open(folder_ + "/" + name));
    std::vector<float> all;
    for (const std::string& array : file.names()) {
      if (array.starts_with("__") || array.find(part) == array.npos) continue;
      const Tensor tensor = Must(file.Read(array));
      all.insert(all.end(), tensor.data<float>(), tensor.data<float>() + tensor.num_elements());
    }
    return all;
  }

  // Two rounds of four clients; what client 1 ends with.
  std::vector<float> RunAll(const std::string& encryption,
                            const std::vector<std::string>& strategy = {}) {
    std::vector<std::string> of_all,
        of_clients = {"--evaluate", "--metrics=categorical_accuracy,categorical_accuracy"};
    if (!encryption.empty()) of_all = {"--encryption=" + encryption};
    if (encryption == "tenseal") of_clients.push_back("--encryption-key-file=" + folder_ + "/key");
    of_clients.insert(of_clients.end(), of_all.begin(), of_all.end());
    std::vector<std::string> of_aggregator = {
        "--rounds=2", "--min-clients=4", "--history-file=" + folder_ + "/history.csv",
        "--clients-file=" + folder_ + "/clients.csv", "--report=" + folder_ + "/run.html"};
    of_aggregator.insert(of_aggregator.end(), of_all.begin(), of_all.end());
    of_aggregator.insert(of_aggregator.end(), strategy.begin(), strategy.end());
    const auto aggregator = Aggregator(of_aggregator);
    std::vector<std::unique_ptr<Process>> clients;
    for (int k = 1; k <= 4; ++k) clients.push_back(Client(k, of_clients));
    for (const auto& client : clients) {
      const Outcome outcome = client->Wait();
      EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
      EXPECT_THAT(outcome.text, ::testing::HasSubstr("**** Round 2 of 2..."));
    }
    const Outcome outcome = aggregator->Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, ::testing::HasSubstr("**** Round 2: 4 of 4 clients"));
    const std::vector<float> first = Parameters("client-1.npz");
    for (int k = 2; k <= 4; ++k) {
      EXPECT_EQ(Parameters("client-" + std::to_string(k) + ".npz"), first) << k;
    }
    return first;
  }

  static void ExpectGood(Process& process) {
    const Outcome outcome = process.Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  }

  // How a federation of two clients is disturbed.
  struct Kills {
    bool client = false;      // the first one, in round 3, after `pause`
    bool aggregator = false;  // after round 7
    std::chrono::microseconds pause{0};
  };
  // What client 1 ends with after 12 rounds in which who was killed came again, the aggregator with
  // what it had kept. `said`: of client 1, by then.
  std::vector<float> TrainTwo(const Kills& kills, const std::vector<std::string>& of_aggregator,
                              const std::vector<std::string>& of_first,
                              const std::vector<std::string>& of_second,
                              std::string* said = nullptr) {
    std::filesystem::remove_all(folder_ + "/state");
    std::vector<std::string> options = {"--rounds=12", "--min-clients=2",
                                        "--checkpoint-dir=" + folder_ + "/state",
                                        "--resume=if-there"};
    options.insert(options.end(), of_aggregator.begin(), of_aggregator.end());
    auto aggregator = Aggregator(options);
    auto one = Client(1, of_first);
    const auto two = Client(2, of_second);
    if (kills.client) {
      EXPECT_TRUE(one->ReadUntil("**** Round 3 of 12...")) << one->text();
      std::this_thread::sleep_for(kills.pause);
      one->Signal(SIGKILL);
      one->Wait();
      one = Client(1, of_first);
    }
    if (kills.aggregator) {
      EXPECT_TRUE(aggregator->ReadUntil("**** Round 7: "));
      aggregator->Signal(SIGKILL);
      aggregator->Wait();
      aggregator = Aggregator(options);
    }
    for (Process* process : {one.get(), two.get(), aggregator.get()}) ExpectGood(*process);
    if (said != nullptr) *said = one->text();
    return Parameters("client-1.npz");
  }

  static double Distance(const std::vector<float>& a, const std::vector<float>& b) {
    EXPECT_EQ(a.size(), b.size());
    double most = 0;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      most = std::max(most, double(std::abs(a[i] - b[i])));
    }
    return most;
  }

  const std::string folder_;
  std::string address_;
};

}  // namespace dtnn::testing

#endif  // DTNN_APPS_AGGREGATOR_TESTING_FEDERATION_PROGRAMS_H_
