// The conformance suite through a broker, with and without TLS: 1 to 4 ranks that are processes,
// which this program starts.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "comm/testing/communicator_conformance.h"
#include "comm/transport/mqtt/testing/test_broker.h"
#include "comm/transport/tcp/testing/rank_tests.h"
#include "comm/transport/tls/testing/host_files.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

constexpr char kPort[] = "MQTT_TEST_PORT", kFolder[] = "MQTT_TEST_FOLDER";

std::vector<RanksUnderTest> AllWays() {
  return {testing::TestedRanks(std::getenv(kFolder) == nullptr ? "Plain" : "Tls",
                               /*checked=*/false, {})};
}

INSTANTIATE_TEST_SUITE_P(Mqtt, CommunicatorConformance, ::testing::ValuesIn(AllWays()),
                         ConformanceName);
INSTANTIATE_TEST_SUITE_P(Mqtt, CommunicatorPatience, ::testing::Values(AllWays()[0]),
                         ConformanceName);

testing::Join JoinAsTold() {
  const char* const folder = std::getenv(kFolder);
  return testing::JoinByMqtt(uint16_t(std::atoi(std::getenv(kPort))),
                             folder == nullptr ? "" : folder);
}

// On the ranks of `least` to `most`, with a broker of their own.
int RunThrough(const testing::TestBroker& broker, int argc, char** argv, int least, int most) {
  setenv(kPort, std::to_string(broker.port()).c_str(), 1);
  return testing::RunTestsOnRanks(argc, argv, least, most, JoinAsTold());
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  if (dtnn::testing::IsRankProcess())
    return dtnn::testing::RunTestsOnRanks(argc, argv, 1, 4, dtnn::JoinAsTold());
  if (!dtnn::testing::HasBroker()) {
    std::puts("skipped: no mosquitto here (./setup.sh --dev installs it)");
    return 0;
  }
  const int plain = dtnn::RunThrough(dtnn::testing::TestBroker(), argc, argv, 1, 4);
  dtnn::testing::WriteHostFiles(::testing::TempDir());
  setenv(dtnn::kFolder, ::testing::TempDir().c_str(), 1);
  return plain +
         dtnn::RunThrough(dtnn::testing::TestBroker(::testing::TempDir()), argc, argv, 2, 3);
}
