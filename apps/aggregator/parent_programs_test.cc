// Aggregators that are clients of another one, as programs: two of them with two clients each.

#include <signal.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "apps/aggregator/testing/federation_programs.h"
#include "apps/testing/process.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/transport/tcp/socket.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/access/private_file.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using testing::Outcome;
using testing::Process;

class ParentProgramsTest : public testing::FederationPrograms {
 protected:
  ParentProgramsTest() : top_(address_) {
    for (std::string& address : addresses_) {
      const Socket socket = Must(Listen({.host = "127.0.0.1", .port = 0}));
      address = Must(socket.Local()).ToString();
    }
  }

  std::unique_ptr<Process> Parent(std::vector<std::string> more) {
    address_ = top_;
    more.insert(more.end(), {"--min-clients=2", "--checkpoint-dir=" + folder_ + "/state"});
    return Aggregator(more);
  }
  std::string NameOf(int group) const { return group == 0 ? "north" : "south"; }
  std::unique_ptr<Process> Group(int group, std::vector<std::string> more = {}) {
    address_ = addresses_[size_t(group)];
    more.insert(more.end(),
                {"--parent=" + top_, "--client-name=" + NameOf(group), "--min-clients=2",
                 "--save-model=" + folder_ + "/" + NameOf(group) + ".npz"});
    return Aggregator(more);
  }
  // The k-th of four; the first two are of the first group.
  std::unique_ptr<Process> ClientOfGroup(int k, const std::vector<std::string>& more = {}) {
    address_ = addresses_[size_t((k - 1) / 2)];
    return Client(k, more);
  }

  void ExpectGood(Process& process, const std::string& text) {
    const Outcome outcome = process.Wait();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr(text));
  }

  const std::string top_;
  std::array<std::string, 2> addresses_;
};

TEST_F(ParentProgramsTest, TwoLevelsMakeTheModelOfOne) {
  const std::vector<float> flat = RunAll("");
  ASSERT_GT(flat.size(), 10000u);
  Must(WritePrivateFile(folder_ + "/top.secret", std::string(40, 'q')));  // the same, from a file
  for (const std::string encryption : {"", "masked"}) {
    std::vector<std::string> more;
    if (!encryption.empty()) more.push_back("--encryption=" + encryption);
    std::filesystem::remove_all(folder_ + "/state");
    const auto parent = Parent({"--rounds=2", "--history-file=" + folder_ + "/top.csv"});
    std::vector<std::unique_ptr<Process>> groups, clients;
    for (int group = 0; group < 2; ++group) {
      std::vector<std::string> of_group = more;
      of_group.push_back("--history-file=" + folder_ + "/" + NameOf(group) + ".csv");
      of_group.push_back("--report=" + folder_ + "/" + NameOf(group) + ".html");
      if (group == 1) of_group.push_back("--parent-secret-file=" + folder_ + "/top.secret");
      groups.push_back(Group(group, of_group));
    }
    for (int k = 1; k <= 4; ++k) clients.push_back(ClientOfGroup(k, more));
    for (const auto& client : clients) ExpectGood(*client, "ended after 2 rounds");
    for (const auto& group : groups) {
      ExpectGood(*group, "the rounds of the aggregator at " + top_ + "; waits for clients at ");
    }
    ExpectGood(*parent, "client south is there, with 160 samples of 2 clients");
    const std::vector<float> end = Parameters("client-1.npz");
    EXPECT_LT(Distance(end, flat), encryption.empty() ? 1e-5 : 1e-4) << encryption;
    for (const std::string name : {"client-4.npz", "north.npz", "south.npz"}) {
      EXPECT_EQ(Parameters(name), end) << name;
    }
    std::ifstream history(folder_ + "/top.csv");
    std::string line;
    std::getline(history, line);
    std::getline(history, line);
    EXPECT_THAT(line, HasSubstr(",2,320,1,")) << "groups, samples of all clients, attempts";
    std::ifstream page(folder_ + "/north.html");
    EXPECT_THAT(std::string(std::istreambuf_iterator<char>(page), {}),
                HasSubstr("Training has ended: 2 of 2 epochs"));
  }
}

// A group, and then the parent, are killed and started again; all rounds are done in the end.
TEST_F(ParentProgramsTest, EitherLevelMayBeKilled) {
  const std::vector<std::string> options = {"--rounds=12", "--resume=if-there", "--deadline=20"};
  auto parent = Parent(options);
  std::vector<std::unique_ptr<Process>> groups, clients;
  const std::vector<std::string> history = {"--history-file=" + folder_ + "/north.csv"};
  groups.push_back(Group(0, history));
  groups.push_back(Group(1));
  for (int k = 1; k <= 4; ++k) clients.push_back(ClientOfGroup(k));
  ASSERT_TRUE(parent->ReadUntil("**** Round 2: "));
  groups[0]->Signal(SIGKILL);
  groups[0]->Wait();
  groups[0] = Group(0, history);
  ASSERT_TRUE(parent->ReadUntil("**** Round 5: "));
  parent->Signal(SIGKILL);
  parent->Wait();
  parent = Parent(options);
  ExpectGood(*parent, "**** Round 12: 2 of 2 clients");
  for (const auto& group : groups) ExpectGood(*group, "**** Round 12: 2 of 2 clients");
  for (const auto& client : clients) ExpectGood(*client, "ended after 12 rounds");
  const std::vector<float> end = Parameters("state/checkpoint-12.npz");
  EXPECT_EQ(Parameters("north.npz"), end);
  EXPECT_EQ(Parameters("client-4.npz"), end);
  // Each round once, whichever process did it, and however often.
  std::ifstream file(folder_ + "/north.csv");
  std::string line, rounds;
  std::getline(file, line);
  while (std::getline(file, line)) rounds += line.substr(0, line.find(',')) + " ";
  EXPECT_EQ(rounds, "1 2 3 4 5 6 7 8 9 10 11 12 ");
}

TEST_F(ParentProgramsTest, WhatTheParentHasIsRefused) {
  const auto why = [this](const std::string& option) {
    const Outcome outcome = Group(0, {option})->Wait();
    EXPECT_EQ(outcome.exit_code, kExitUsage) << outcome.text;
    return outcome.text;
  };
  EXPECT_THAT(why("--strategy=fedadam"),
              HasSubstr("--strategy: not with --parent, which has it; give it there"));
  EXPECT_THAT(why("--checkpoint-dir=" + folder_), HasSubstr("--checkpoint-dir: not with --parent"));
  EXPECT_THAT(why("--encryption=tenseal"),
              HasSubstr("--encryption=tenseal: not with --parent: this aggregator sends it the "
                        "mean of its clients, and with tenseal cannot read it"));
  addresses_[0] = top_;
  EXPECT_THAT(why("--receive-memory=9"),
              HasSubstr("is where this aggregator meets its own clients"));
}

}  // namespace
}  // namespace dtnn
