// Ranks through a broker: one of them is killed or freezes, or the broker is gone.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "comm/ranks/exchange/exchange_process.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/mqtt/mqtt_datagrams.h"
#include "comm/transport/mqtt/testing/test_broker.h"
#include "comm/transport/relay/relay_mesh.h"
#include "comm/transport/tcp/testing/fault_tests.h"
#include "comm/transport/tls/testing/host_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

constexpr char kPort[] = "MQTT_TEST_PORT";

absl::StatusOr<Mesh> Meet(const MqttOptions& options, int rank, int size,
                          std::chrono::milliseconds timeout,
                          std::function<bool()> interrupted = {}) {
  CommunicatorOptions patience;
  patience.timeout = timeout;
  patience.grace = std::chrono::milliseconds(1);
  patience.interrupted = std::move(interrupted);
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
  // Until a busy machine has tried once.
  absl::Status status;
  for (std::chrono::milliseconds timeout(500); timeout < std::chrono::minutes(1); timeout *= 2) {
    status = Meet(options, 0, 2, timeout).status();
    if (status.message().find("refused") != status.message().npos) break;
  }
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

std::string Folder(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "/" + name;
  std::filesystem::create_directories(folder);
  return folder;
}

// Whether a rank with those files gets as far as to wait for others, and not for the broker.
bool Reaches(const testing::TestBroker& broker, const TlsFiles& files,
             std::chrono::milliseconds timeout = std::chrono::milliseconds(700)) {
  const MqttOptions options = {
      .broker = {.host = "127.0.0.1", .port = broker.port()},
      .tls = BrokerCertificates{
          .authority = files.authority, .certificate = files.certificate, .key = files.key}};
  const std::string end(Meet(options, 0, 2, timeout).status().message());
  EXPECT_THAT(end, HasSubstr("rank 0 has waited "));
  return end.find("for the MQTT broker at") == end.npos;
}

TEST(MqttFaultTest, CertificatesOfAnotherAuthorityAreRefused) {
  const TlsFiles ours = testing::WriteHostFiles(Folder("mqtt_ours"));
  const TlsFiles foreign = testing::WriteHostFiles(Folder("mqtt_foreign"));
  const testing::TestBroker broker(Folder("mqtt_ours"));
  std::chrono::milliseconds timeout(500);
  while (!Reaches(broker, ours, timeout) && timeout < std::chrono::minutes(1)) timeout *= 2;
  EXPECT_LT(timeout, std::chrono::minutes(1));
  // Only the rank can refuse: the broker takes its certificate.
  EXPECT_FALSE(Reaches(broker, {ours.certificate, ours.key, foreign.authority}));
  // Only the broker can.
  EXPECT_FALSE(Reaches(broker, {foreign.certificate, foreign.key, ours.authority}));
  EXPECT_FALSE(Reaches(broker, {"", "", ours.authority}));
}

TEST(MqttFaultTest, ABrokerWithACertificateForAnotherNameIsRefused) {
  const TlsFiles elsewhere =
      testing::WriteHostFiles(Folder("mqtt_elsewhere"), "host", {"broker.example", "10.0.0.7"});
  const testing::TestBroker broker(Folder("mqtt_elsewhere"));
  EXPECT_FALSE(Reaches(broker, elsewhere));
}

// A client of the broker that is heard as that rank, and knows the secret.
class Client {
 public:
  Client(uint16_t port, const std::string& user, int rank)
      : datagrams_(Must(MakeMqttDatagrams({.broker = {.host = "127.0.0.1", .port = port},
                                           .user = user,
                                           .password = "word of " + user},
                                          Must(JobSecret::Of(std::string(40, 's')))))) {
    Must(datagrams_->Open({.rank = rank, .number = Must(datagrams_->DrawNumber())},
                          {.received =
                               [this](std::string_view bytes) {
                                 const std::lock_guard lock(mutex_);
                                 heard_.emplace_back(bytes);
                                 changed_.notify_all();
                               },
                           .left = [](const Instance&) {},
                           .cut = [](const absl::Status&) {}},
                          {.timeout = std::chrono::minutes(1)}));
  }
  // When it returns the broker has done with it, and has sent this client all that came before.
  void Send(int to, const std::string& bytes) {
    datagrams_->Send(to, bytes);
    datagrams_->Flush(std::chrono::steady_clock::now() + std::chrono::minutes(1));
  }
  std::vector<std::string> HearUntil(const std::string& last) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return std::ranges::count(heard_, last) > 0; });
    return heard_;
  }
  std::vector<std::string> heard() {
    const std::lock_guard lock(mutex_);
    return heard_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> heard_;
  const std::unique_ptr<Datagrams> datagrams_;  // the first to go: its thread uses the others
};

// The lists of docs/security.md.
TEST(MqttFaultTest, WithAccessListsNoClientTakesThePlaceOfRankZero) {
  const std::string folder = Folder("mqtt_lists"), users = folder + "/users";
  std::ofstream lists(folder + "/lists");
  lists << "user aggregator\ntopic readwrite dtnn/#\n";
  std::filesystem::remove(users);
  for (const std::string user : {"aggregator", "north", "south"}) {
    const std::string options = std::filesystem::exists(users) ? "-b " : "-b -c ";
    ASSERT_EQ(std::system(("/usr/bin/mosquitto_passwd " + options + users + " " + user +
                           " 'word of " + user + "'")
                              .c_str()),
              0);
    if (user == "aggregator") continue;
    lists << "user " << user
          << "\ntopic write dtnn/+/0\ntopic read dtnn/+/others/+\ntopic readwrite dtnn/+/left\n";
  }
  lists.close();
  const testing::TestBroker broker(
      "", "allow_anonymous false\npassword_file " + users + "\nacl_file " + folder + "/lists\n");
  Client aggregator(broker.port(), "aggregator", 0), impostor(broker.port(), "north", 0);
  Client south(broker.port(), "south", 5);
  south.Send(0, "call");
  EXPECT_EQ(aggregator.HearUntil("call").size(), 1u);
  impostor.Send(5, "answer of another");
  EXPECT_THAT(impostor.heard(), ::testing::IsEmpty());
  aggregator.Send(5, "answer");
  EXPECT_THAT(south.HearUntil("answer"), ::testing::ElementsAre("answer"));
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
  EXPECT_THAT(std::string(status.message()), HasSubstr(key + ": is not a private key"));
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
  std::atomic<bool> found = false;
  std::thread other([&] {
    called = Meet(options, 0, 2, std::chrono::minutes(1)).status();
    found = true;
  });
  const absl::Status caller =
      Meet(options, 1, 2, std::chrono::minutes(1), [&] { return found.load(); }).status();
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
