#include "comm/federation/identity/allowed_clients.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "comm/secrets/crypto/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The key of a client whose secret is the hash of this number.
Ed25519PublicKey KeyOf(int number) {
  const uint8_t bytes[] = {uint8_t(number), uint8_t(number >> 8)};
  return Must(Ed25519PublicKeyOf(Secret(Must(Sha256({bytes})))));
}
std::string Line(const std::string& name, int number) {
  return name + " " + ToText(KeyOf(number)) + "\n";
}

std::string ErrorOf(const std::string& text) {
  const absl::Status status = ParseAllowedClients(text, "list").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(status.message());
}

TEST(AllowedClientsTest, NamesAndKeysAreThoseOfTheLines) {
  const ClientKeys keys =
      Must(ParseAllowedClients("# who may take part\n\n" + Line("north", 1) + "  south\t" +
                                   ToText(KeyOf(2)) + "   # moved in May\r\n" + Line("a.b_c-9", 3),
                               "list"));
  EXPECT_EQ(keys, (ClientKeys{{"a.b_c-9", KeyOf(3)}, {"north", KeyOf(1)}, {"south", KeyOf(2)}}));
}

TEST(AllowedClientsTest, ErrorsNameTheLineAndWhatIsWrong) {
  const std::string north = Line("north", 1);
  EXPECT_EQ(ErrorOf(""), "list: names no client; nobody could take part");
  EXPECT_EQ(ErrorOf("# north\n"), "list: names no client; nobody could take part");
  EXPECT_EQ(ErrorOf(north + "south\n"),
            "list:2: has 1 word; expected a client's name and its public key");
  const std::string no_end =
      ": the last line has no end: is the file half written? Expected a newline";
  EXPECT_EQ(ErrorOf(north + "south " + ToText(KeyOf(2))), "list:2" + no_end);
  EXPECT_EQ(ErrorOf(north + "# sou"), "list:2" + no_end);
  EXPECT_EQ(ErrorOf("\n" + Line("north of", 1)),
            "list:2: has 3 words; expected a client's name and its public key");
  EXPECT_EQ(ErrorOf(Line("../north", 1)),
            "list:1: a client's name is 1 to 64 letters, digits and \"._-\", not \"../north\"");
  EXPECT_EQ(ErrorOf("north A6EHv/POEL4d\n"),
            "list:1: the key of north is not the 44 characters in base64 of a public key: "
            "\"A6EHv/POEL4d\"");
  EXPECT_EQ(ErrorOf("north " + std::string(43, 'A') + "=\n"),
            "list:1: the key of north is a point of small order, with which anybody can sign");
  EXPECT_EQ(ErrorOf("north Ag" + std::string(41, 'A') + "=\n"),
            "list:1: the key of north is not a public key of Ed25519: no point of its curve");
  EXPECT_EQ(ErrorOf(north + "#\n" + Line("north", 2)),
            "list:3: north has a key in line 1 already; a client has one line");
  EXPECT_EQ(ErrorOf(north + Line("south", 1)),
            "list:2: south has the key of north in line 1; each client needs a key of its own");
  std::string many;
  for (int i = 0; i < 4096; ++i) many += Line("c" + std::to_string(i), i);
  EXPECT_EQ(Must(ParseAllowedClients(many, "list")).size(), 4096u);
  EXPECT_EQ(ErrorOf(many + Line("c4096", 4096)), "list:4097: more than 4096 clients");
}

class AllowedClientsFileTest : public ::testing::Test {
 protected:
  AllowedClientsFileTest() { Write(Line("north", 1) + Line("south", 2)); }

  void Write(const std::string& text) {
    std::filesystem::remove(path_);
    std::ofstream(path_) << text;
    chmod(path_.c_str(), 0644);
  }
  bool Follow(AllowedClients& list) {
    return list.Follow(now_, [this](std::string_view line) { warnings_.emplace_back(line); });
  }

  const std::string path_ = ::testing::TempDir() + "/allowed";
  AllowedClients::Clock::time_point now_{};
  std::vector<std::string> warnings_;
};

TEST_F(AllowedClientsFileTest, AnotherListIsFollowed) {
  AllowedClients list = Must(AllowedClients::Read(path_));
  EXPECT_TRUE(list.Allows("north", KeyOf(1)));
  EXPECT_FALSE(list.Allows("north", KeyOf(2)));
  EXPECT_FALSE(list.Allows("west", KeyOf(1)));
  EXPECT_FALSE(Follow(list));
  Write("# the same clients\n" + Line("south", 2) + Line("north", 1));
  EXPECT_FALSE(Follow(list)) << "only its text is another";
  Write(Line("north", 3) + Line("west", 4));
  EXPECT_FALSE(Follow(list));
  EXPECT_TRUE(list.settles());
  EXPECT_TRUE(list.Allows("north", KeyOf(1)));
  now_ += kSettles;
  EXPECT_TRUE(Follow(list));
  EXPECT_FALSE(list.settles());
  EXPECT_FALSE(Follow(list));
  EXPECT_TRUE(list.Allows("north", KeyOf(3)));
  EXPECT_FALSE(list.Allows("north", KeyOf(1)));
  EXPECT_EQ(list.Find("south"), nullptr);
  EXPECT_THAT(warnings_, ElementsAre());
}

TEST_F(AllowedClientsFileTest, ABrokenListChangesNothingAndIsToldOnce) {
  AllowedClients list = Must(AllowedClients::Read(path_));
  const auto stays = [&] {
    EXPECT_FALSE(Follow(list));
    EXPECT_FALSE(Follow(list));
    EXPECT_TRUE(list.Allows("north", KeyOf(1)));
    EXPECT_TRUE(list.Allows("south", KeyOf(2)));
  };
  Write("");
  stays();
  EXPECT_THAT(warnings_, ElementsAre(path_ + ": names no client; nobody could take part; the list "
                                             "of before stays in force"));
  Write(Line("north", 1) + "south A6EH");
  stays();
  ASSERT_EQ(warnings_.size(), 2u);
  std::filesystem::remove(path_);
  stays();
  ASSERT_EQ(warnings_.size(), 3u);
  Write(Line("north", 5));
  chmod(path_.c_str(), 0666);
  stays();
  ASSERT_EQ(warnings_.size(), 4u);
  EXPECT_THAT(warnings_[3], HasSubstr("other users may change it"));
  Write(Line("north", 1) + Line("south", 2));
  stays();
  std::filesystem::remove(path_);
  stays();
  EXPECT_EQ(warnings_.size(), 5u) << "trouble that was over is new";
}

TEST_F(AllowedClientsFileTest, NewClientsCountAtOnce) {
  AllowedClients list = Must(AllowedClients::Read(path_));
  Write(Line("north", 1) + Line("south", 2) + Line("west", 3));
  EXPECT_TRUE(Follow(list));
  EXPECT_TRUE(list.Allows("west", KeyOf(3)));
}

// As make_certificates writes it: many of its beginnings are lists.
TEST_F(AllowedClientsFileTest, AListThatIsBeingWrittenEndsNobody) {
  const std::string before =
      "# north.key\n" + Line("north", 1) + "# south.key\n" + Line("south", 2);
  const std::string after = before + "# west.key\n" + Line("west", 3);
  for (size_t cut = 0; cut < after.size(); ++cut) {
    Write(before);
    AllowedClients list = Must(AllowedClients::Read(path_));
    const auto all_stay = [&list] {
      return list.Allows("north", KeyOf(1)) && list.Allows("south", KeyOf(2));
    };
    Write(after.substr(0, cut));
    EXPECT_FALSE(Follow(list)) << cut;
    EXPECT_TRUE(all_stay()) << cut;
    Write(after.substr(0, (cut + after.size()) / 2));
    now_ += kSettles;
    Follow(list);
    EXPECT_TRUE(all_stay()) << cut << ": its text has changed since";
    Write(after);
    now_ += kSettles;
    Follow(list);
    EXPECT_TRUE(all_stay() && list.Allows("west", KeyOf(3))) << cut;
  }
}

TEST_F(AllowedClientsFileTest, AListThatComesBackEndsNobody) {
  AllowedClients list = Must(AllowedClients::Read(path_));
  for (int time = 0; time < 3; ++time) {
    Write(Line("north", 1));
    EXPECT_FALSE(Follow(list));
    now_ += kSettles / 2;
    Write(Line("north", 1) + Line("south", 2));
    EXPECT_FALSE(Follow(list));
    EXPECT_FALSE(list.settles());
    now_ += kSettles / 2;
  }
}

TEST_F(AllowedClientsFileTest, AtTheStartABrokenListIsAnError) {
  Write("north\n");
  EXPECT_THAT(std::string(AllowedClients::Read(path_).status().message()),
              HasSubstr("allowed:1: has 1 word"));
  std::filesystem::remove(path_);
  EXPECT_TRUE(absl::IsNotFound(AllowedClients::Read(path_).status()));
  Write(std::string((1 << 20) + 1, '#'));
  EXPECT_TRUE(absl::IsFailedPrecondition(AllowedClients::Read(path_).status()));
}

}  // namespace
}  // namespace dtnn::federation
