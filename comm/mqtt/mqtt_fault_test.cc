// Ranks through a broker: one of them is killed or freezes, or the broker is gone.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "comm/crypto/job_secret.h"
#include "comm/exchange/exchange_process.h"
#include "comm/mqtt/mqtt_datagrams.h"
#include "comm/mqtt/testing/test_broker.h"
#include "comm/relay/relay_mesh.h"
#include "comm/tcp/testing/fault_tests.h"
#include "comm/tls/testing/host_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr char kPort[] = "MQTT_TEST_PORT";

absl::StatusOr<Mesh> Meet(const MqttOptions& options, int rank, int size,
                          std::chrono::milliseconds timeout) {
  CommunicatorOptions patience;
  patience.timeout = timeout;
  const JobSecret secret = Must(JobSecret::Of(std::string(40, 's')));
  return MeetThrough(Must(MakeMqttDatagrams(options, secret)), rank, size, secret, patience);
}

TEST(MqttFaultTest, WhenTheBrokerGoesAllAreTold) {
  testing::TestBroker broker;
  const MqttOptions options = {.broker = {.host = "127.0.0.1", .port = broker.port()}};
  std::vector<std::unique_ptr<ExchangeProcess>> processes(2);
  std::vector<std::unique_ptr<Communicator>> communicators(2);
  const auto on_ranks = [](const auto& body) {
    std::thread other([&] { body(1); });
    body(0);
    other.join();
  };
  on_ranks([&](int rank) {
    const CommunicatorOptions patient = {.timeout = std::chrono::minutes(1)};
    processes[size_t(rank)] = std::make_unique<ExchangeProcess>(
        patient, Must(Meet(options, rank, 2, std::chrono::minutes(1))));
    communicators[size_t(rank)] = Must(processes[size_t(rank)]->Connect(patient));
  });
  broker.Kill();
  broker.Start();  // what is lost stays lost
  on_ranks([&](int rank) {
    const absl::Status status = communicators[size_t(rank)]->Barrier();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("the broker at " + options.broker.ToString() + " is gone"));
  });
}

TEST(MqttFaultTest, ABrokerThatIsNotThereIsWaitedFor) {
  testing::TestBroker broker;
  MqttOptions options = {.broker = {.host = "127.0.0.1", .port = broker.port()}};
  broker.Kill();
  const absl::Status status = Meet(options, 0, 2, std::chrono::milliseconds(500)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 0 has waited "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("for the MQTT broker at 127.0.0.1:"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("refused"));
  // A rank that was drawn says nothing to people.
  options.self = "client north";
  EXPECT_THAT(std::string(Meet(options, 0, 2, std::chrono::milliseconds(500)).status().message()),
              HasSubstr("client north has waited "));
}

TEST(MqttFaultTest, WhereTlsFailsItIsAskedFor) {
  const testing::TestBroker plain;
  const std::string folder = ::testing::TempDir() + "/mqtt_tls";
  std::filesystem::create_directories(folder);
  const MqttOptions options = {
      .broker = {.host = "127.0.0.1", .port = plain.port()},
      .tls = BrokerCertificates{
          .authority = testing::WriteHostFiles(folder).authority, .certificate = {}, .key = {}}};
  const absl::Status status = Meet(options, 0, 2, std::chrono::milliseconds(500)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("with TLS 1.3 and a certificate for"));
}

TEST(MqttFaultTest, AKeyOfAnotherCertificateIsNamedAtOnce) {
  const std::string folder = ::testing::TempDir() + "/", key = folder + "other.key";
  const TlsFiles mine = testing::WriteHostFiles(folder, "mine");
  testing::WriteHostFiles(folder, "other");
  const MqttOptions options = {
      .broker = {.host = "127.0.0.1", .port = 1},
      .tls = BrokerCertificates{
          .authority = mine.authority, .certificate = mine.certificate, .key = key}};
  const absl::Status status =
      MakeMqttDatagrams(options, Must(JobSecret::Of(std::string(40, 's')))).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr(key + ": is no private key"));
}

TEST(MqttFaultTest, ABrokerThatKnowsNobodySaysSo) {
  testing::TestBroker broker("", "allow_anonymous false\n");
  const MqttOptions options = {.broker = {.host = "127.0.0.1", .port = broker.port()},
                               .user = "nobody",
                               .password = "wrong"};
  const absl::Status status = Meet(options, 0, 2, std::chrono::minutes(1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the broker refuses"));
}

TEST(MqttFaultTest, ABrokerWithoutRoomForMessagesIsFoundAtOnce) {
  testing::TestBroker broker("", "message_size_limit 10000\n");
  const MqttOptions options = {.broker = {.host = "127.0.0.1", .port = broker.port()}};
  absl::Status called;
  std::thread other([&] { called = Meet(options, 0, 2, std::chrono::minutes(1)).status(); });
  const absl::Status caller = Meet(options, 1, 2, std::chrono::seconds(2)).status();
  other.join();
  EXPECT_EQ(called.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(called.message()),
              HasSubstr("1 of its messages are missing: what carries them has dropped them; it "
                        "must have room for messages of 257 KiB"));
  EXPECT_FALSE(caller.ok());
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  if (dtnn::testing::IsRankProcess()) {
    return dtnn::testing::RunFaultTests(
        argc, argv, dtnn::testing::JoinByMqtt(uint16_t(std::atoi(std::getenv(dtnn::kPort)))));
  }
  if (!dtnn::testing::HasBroker()) {
    std::puts("skipped: no mosquitto here (./setup.sh --dev installs it)");
    return 0;
  }
  const dtnn::testing::TestBroker broker;
  setenv(dtnn::kPort, std::to_string(broker.port()).c_str(), 1);
  return dtnn::testing::RunFaultTests(argc, argv, {});
}
