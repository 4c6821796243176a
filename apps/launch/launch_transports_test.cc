// Training with ranks that meet as PYMPI_PROTO and PYMPI_SSL say: whatever carries their messages,
// they learn the same.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "apps/testing/process.h"
#include "comm/transport/mqtt/testing/test_broker.h"
#include "comm/transport/tls/testing/host_files.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ContainsRegex;
using testing::NewFolder;
using testing::Outcome;
using testing::Process;

std::string Text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// cert.pem with this host's certificate and its authority's, and key.pem.
std::string WriteOneCertificate() {
  const std::string folder = NewFolder("ssl");
  const TlsFiles files = testing::WriteHostFiles(folder);
  std::ofstream(folder + "/cert.pem") << Text(files.certificate) << Text(files.authority);
  std::filesystem::copy_file(files.key, folder + "/key.pem");
  std::ofstream(folder + "/host.pem") << Text(folder + "/cert.pem");  // of a broker too
  return folder;
}

class LaunchTransportsTest : public ::testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  void SetUp() override {
    const auto& [transport, ssl] = GetParam();
    if (transport == "mqtt" && !testing::HasBroker()) {
      GTEST_SKIP() << "no mosquitto here (./setup.sh --dev installs it)";
    }
    Set("PYMPI_PROTO", transport);
    std::string folder;
    if (ssl) {
      folder = WriteOneCertificate();
      Set("PYMPI_SSL", "yes");
      Set("DTNN_SHARED_MEMORY", "no");  // ranks of tcp exchange by TLS
      Set("PYMPI_SSL_KEY", folder + "/key.pem");
      Set("PYMPI_SSL_CERT", folder + "/cert.pem");
    }
    if (transport != "mqtt") return;
    broker_.emplace(folder);
    Set("PYMPI_PORT", std::to_string(broker_->port()));
  }
  void TearDown() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
  }
  void Set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }

  std::vector<std::string> set_;
  std::optional<testing::TestBroker> broker_;
};

// The history of a run with so many ranks.
std::string Learn(int ranks, const std::string& name, const std::vector<std::string>& more = {}) {
  const std::string history = ::testing::TempDir() + "/" + name + ".csv";
  std::vector<std::string> arguments = {"-n",
                                        std::to_string(ranks),
                                        "--",
                                        "apps/benchmark",
                                        "--model=simplecnn_v1",
                                        "--dataset=synthetic",
                                        "--synthetic-pattern=classes",
                                        "--synthetic-input-shape=1,8,8",
                                        "--synthetic-output-shape=3",
                                        "--synthetic-train-samples=101",
                                        "--synthetic-test-samples=23",
                                        "--learning-rate=0.05",
                                        "--schedulers=",
                                        "--parallel=data",
                                        "--use-blocking-mpi=False",
                                        "--num-epochs=3",
                                        "--global-batch-size=12",
                                        "--history-file=" + history};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = Process("apps/launch/launch", arguments).Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  const char* const transport = std::getenv("PYMPI_PROTO");
  EXPECT_THAT(outcome.text, ContainsRegex("transport +: " + std::string(transport)));
  return Text(history);
}

TEST_P(LaunchTransportsTest, RanksLearnTheSame) {
  for (const int ranks : {2, 4}) {
    const std::string learnt = Learn(ranks, "own");
    setenv("PYMPI_PROTO", "tcp", 1);
    EXPECT_EQ(learnt, Learn(ranks, "tcp")) << ranks << " ranks";
    setenv("PYMPI_PROTO", std::get<0>(GetParam()).c_str(), 1);
  }
}

TEST_P(LaunchTransportsTest, LessOnTheWireIsTheSameEverywhere) {
  for (const std::vector<std::string>& less : std::vector<std::vector<std::string>>{
           {"--gradient-compression=fp16"},
           {"--gradient-compression=bf16", "--comm-bucket-mb=0.001"},
           {"--optimizer=oktopk", "--optimizer-density=0.1"}}) {
    const std::string learnt = Learn(3, "own", less);
    setenv("PYMPI_PROTO", "tcp", 1);
    EXPECT_EQ(learnt, Learn(3, "tcp", less)) << less[0];
    EXPECT_NE(learnt, Learn(3, "tcp")) << less[0];
    setenv("PYMPI_PROTO", std::get<0>(GetParam()).c_str(), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Variables, LaunchTransportsTest,
                         ::testing::Combine(::testing::Values("tcp", "grpc", "mqtt"),
                                            ::testing::Bool()),
                         [](const auto& info) {
                           return std::get<0>(info.param) + (std::get<1>(info.param) ? "_ssl" : "");
                         });

}  // namespace
}  // namespace dtnn
