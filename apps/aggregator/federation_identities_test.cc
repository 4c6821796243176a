// Clients that prove their names, as programs.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/aggregator/testing/federation_programs.h"
#include "apps/testing/process.h"
#include "apps/testing/texts.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/transport/mqtt/testing/test_broker.h"
#include "comm/transport/tls/testing/host_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/atomic_file.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using testing::Contents;
using ::testing::HasSubstr;
using testing::Launch;
using ::testing::Not;
using testing::Outcome;
using testing::Process;

constexpr char kMakeCertificates[] = "apps/make_certificates/make_certificates";

class FederationIdentitiesTest : public testing::FederationPrograms {
 protected:
  FederationIdentitiesTest() {
    list_ = NewIdentities("client-1,client-2,client-3");
    const std::string line = NewIdentities("aggregator");
    aggregator_key_ = line.substr(line.rfind(' ') + 1);
    aggregator_key_.resize(aggregator_key_.find('\n'));
    WriteList(list_);
  }

  // Their lines of a list.
  std::string NewIdentities(const std::string& names) {
    const Outcome outcome =
        Launch(kMakeCertificates, "--folder=" + folder_ + " --identities=" + names);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    return outcome.text;
  }
  void WriteList(const std::string& text) {
    Must(WriteFileAtomically(folder_ + "/allowed", std::as_bytes(std::span(text))));
  }
  static std::vector<std::string> Joined(std::vector<std::string> a,
                                         const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  std::unique_ptr<Process> Guarded(const std::vector<std::string>& more) {
    return Aggregator(Joined({"--allowed-clients=" + folder_ + "/allowed",
                              "--identity-key-file=" + folder_ + "/aggregator.key"},
                             more));
  }
  // Client k with the key of another, or its own.
  std::unique_ptr<Process> Proved(int k, const std::vector<std::string>& more = {}, int owner = 0) {
    const std::string key = "client-" + std::to_string(owner == 0 ? k : owner) + ".key";
    return Client(k, Joined({"--identity-key-file=" + folder_ + "/" + key,
                             "--aggregator-key=" + aggregator_key_},
                            more));
  }
  static std::string Refused(const std::unique_ptr<Process>& client) {
    const Outcome outcome = client->Wait();
    EXPECT_EQ(outcome.exit_code, kExitFailed) << outcome.text;
    return outcome.text;
  }

  std::string list_, aggregator_key_;
};

class FederationTransportsTest : public FederationIdentitiesTest,
                                 public ::testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, FederationTransportsTest,
                         ::testing::Values("tcp", "tls", "grpc", "mqtt"),
                         [](const auto& info) { return info.param; });

TEST_P(FederationTransportsTest, ThoseOnTheListTrainAndOthersDoNot) {
  const std::string transport = GetParam() == "tls" ? "tcp" : GetParam();
  std::optional<testing::TestBroker> broker;
  if (transport == "mqtt") {
    if (!testing::HasBroker()) GTEST_SKIP() << "no mosquitto here";
    broker.emplace();
    address_ = "127.0.0.1:" + std::to_string(broker->port());
  }
  if (GetParam() == "tls") {
    const TlsFiles files = testing::WriteHostFiles(folder_);
    setenv("PYMPI_SSL", "yes", 1);
    setenv("PYMPI_SSL_CERT", files.certificate.c_str(), 1);
    setenv("PYMPI_SSL_KEY", files.key.c_str(), 1);
    setenv("PYMPI_SSL_CA", files.authority.c_str(), 1);
  }
  const std::string by = "--transport=" + transport;
  const auto aggregator = Guarded({by, "--rounds=2", "--min-clients=2"});
  const auto one = Proved(1, {by});
  EXPECT_THAT(Refused(Proved(2, {by}, /*owner=*/3)),
              HasSubstr("it does not prove that it is client-2: "));
  EXPECT_THAT(Refused(Proved(4, {by}, /*owner=*/3)),
              HasSubstr("it does not prove that it is client-4: "));
  EXPECT_THAT(Refused(Client(2, {by})), HasSubstr("takes clients that prove their names"));
  const auto two = Proved(2, {by});
  for (const auto* client : {&one, &two}) {
    const Outcome outcome = (*client)->Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("**** The federation has ended after 2 rounds"));
  }
  const Outcome outcome = aggregator->Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("**** 3 clients of " + folder_ + "/allowed may take part"));
  EXPECT_THAT(outcome.text, HasSubstr("has --aggregator-key=" + aggregator_key_ + "\n"));
  EXPECT_THAT(outcome.text, HasSubstr("it does not prove that it is client-2: the list has another "
                                      "key"));
  EXPECT_THAT(outcome.text, HasSubstr("no client called client-4 is on the list"));
  EXPECT_THAT(outcome.text, HasSubstr("**** Round 2: 2 of 2 clients"));
  for (const char* name : {"PYMPI_SSL", "PYMPI_SSL_CERT", "PYMPI_SSL_KEY", "PYMPI_SSL_CA"}) {
    unsetenv(name);
  }
}

// Between two rounds client 2 gets a new key, and client 3 may not take part any more.
TEST_F(FederationIdentitiesTest, TheListIsFollowedWhileTheFederationRuns) {
  const auto aggregator = Guarded({"--rounds=60", "--min-clients=2"});
  const auto one = Proved(1), two = Proved(2), three = Proved(3);
  ASSERT_TRUE(aggregator->ReadUntil("client client-3 is there"));
  ASSERT_TRUE(aggregator->ReadUntil("client client-2 is there"));
  ASSERT_TRUE(aggregator->ReadUntil("**** Round 3: "));
  std::filesystem::remove(folder_ + "/client-2.key");
  const std::string line = NewIdentities("client-2");
  WriteList(list_.substr(0, list_.find("# ", 1)) + line);
  EXPECT_THAT(Refused(three), HasSubstr("client-3 is no longer on the list of clients"));
  // A file that is half written changes nothing.
  WriteList("client-1 A6EH");
  for (const auto* client : {&one, &two}) {
    const Outcome outcome = (*client)->Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("**** Round 60 of 60..."));
  }
  const Outcome outcome = aggregator->Wait();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("client client-3 is sent away: client-3 is no longer"));
  EXPECT_THAT(outcome.text, HasSubstr("client client-2 is sent away: the list of clients has "
                                      "another key for client-2 now"));
  EXPECT_EQ(testing::Count(outcome.text, "the list of before stays in force"), 1) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("**** Round 60: 2 of 2 clients"));
}

// The client calls again until its time is over.
TEST_F(FederationIdentitiesTest, AnotherAggregatorIsLeft) {
  const auto aggregator = Aggregator({"--rounds=1", "--min-clients=1"});
  EXPECT_THAT(
      Refused(Proved(1, {"--comm-timeout=2"})),
      HasSubstr("has no key, but this client expects the aggregator's key " + aggregator_key_));
  EXPECT_EQ(Client(1)->Wait().exit_code, 0);
  EXPECT_EQ(aggregator->Wait().exit_code, 0);
}

TEST_F(FederationIdentitiesTest, FilesThatAreWrongAreErrorsOfTheStart) {
  WriteList("client-1 A6EH\n");
  const Outcome list = Guarded({})->Wait();
  EXPECT_EQ(list.exit_code, kExitFailed);
  EXPECT_THAT(list.text, HasSubstr("--allowed-clients: " + folder_ +
                                   "/allowed:1: the key of "
                                   "client-1 is not the 44 characters"));
  WriteList(list_);
  std::filesystem::permissions(folder_ + "/aggregator.key", std::filesystem::perms(0644));
  const Outcome key = Guarded({})->Wait();
  EXPECT_EQ(key.exit_code, kExitFailed);
  EXPECT_THAT(key.text, HasSubstr("--identity-key-file: " + folder_ +
                                  "/aggregator.key: other "
                                  "users may read or change it"));
  const auto few = Aggregator({"--allowed-clients=" + folder_ + "/allowed", "--min-clients=4"});
  EXPECT_TRUE(few->ReadUntil("names 3 clients; no round begins before it names --min-clients=4"));
}

}  // namespace
}  // namespace dtnn
