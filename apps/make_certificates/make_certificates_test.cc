#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "apps/make_certificates/run.h"
#include "apps/testing/process.h"
#include "apps/testing/texts.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/secrets/crypto/ed25519.h"
#include "comm/secrets/crypto/ed25519_file.h"
#include "comm/transport/tls/authority.h"
#include "comm/transport/tls/tls_stream.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;
using testing::Contents;
using ::testing::HasSubstr;
using testing::Launch;
using testing::NewFolder;
using testing::Outcome;

constexpr char kProgram[] = "apps/make_certificates/make_certificates";

absl::Status Files(const std::string& folder, const std::string& host) {
  return TlsStreams({.certificate = folder + "/" + host + ".pem",
                     .key = folder + "/" + host + ".key",
                     .authority = folder + "/authority.pem"})
      .status();
}

TEST(MakeCertificatesTest, WritesWhatRanksNeed) {
  const std::string folder = NewFolder("certificates") + "/new";
  const Outcome outcome =
      Launch(kProgram, "--folder=" + folder + " node1,10.0.0.1 node2.example,::1");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("keep authority.key here"));
  EXPECT_EQ(Files(folder, "node1"), absl::OkStatus());
  EXPECT_EQ(Files(folder, "node2.example"), absl::OkStatus());
  for (const char* name : {"/authority.key", "/node1.key", "/node2.example.key"}) {
    EXPECT_EQ(fs::status(folder + name).permissions(),
              fs::perms::owner_read | fs::perms::owner_write);
  }
  const Outcome names =
      Launch("openssl", "verify -CAfile " + folder +
                            "/authority.pem -verify_ip "
                            "10.0.0.1 -verify_hostname node1 -purpose sslserver " +
                            folder + "/node1.pem");
  EXPECT_EQ(names.exit_code, 0) << names.text;
}

TEST(MakeCertificatesTest, TheAuthorityStaysTheSame) {
  const std::string folder = NewFolder("again");
  std::ostringstream out;
  ASSERT_EQ(MakeCertificates({.folder = folder, .hosts = {"node1"}}, out), absl::OkStatus());
  const std::string authority = Contents(folder + "/authority.pem");
  ASSERT_EQ(MakeCertificates({.folder = folder, .hosts = {"node2"}}, out), absl::OkStatus());
  EXPECT_EQ(Contents(folder + "/authority.pem"), authority);
  EXPECT_EQ(Files(folder, "node1"), absl::OkStatus());
  EXPECT_EQ(Files(folder, "node2"), absl::OkStatus());
  fs::remove(folder + "/authority.key");
  const absl::Status status = MakeCertificates({.folder = folder, .hosts = {"node3"}}, out);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("authority.key: is missing"));
  std::ofstream(folder + "/authority.key") << "a key";
  fs::remove(folder + "/authority.pem");
  EXPECT_THAT(std::string(MakeCertificates({.folder = folder, .hosts = {"node3"}}, out).message()),
              HasSubstr("authority.pem: is missing"));
  EXPECT_EQ(Contents(folder + "/authority.key"), "a key");
}

TEST(MakeCertificatesTest, FilesOfOtherAuthoritiesAreNotWrittenOver) {
  const std::string folder = NewFolder("foreign");
  std::ostringstream out;
  const Certificate other = Must(MakeAuthority("another authority"));
  const auto put = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder + name) << text;
    const absl::Status status =
        MakeCertificates({.folder = folder, .hosts = {"node0", "node1"}}, out);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("would be overwritten"));
    EXPECT_EQ(Contents(folder + name), text);
    EXPECT_FALSE(fs::exists(folder + "/node0.pem"));
  };
  put("/node1.key", other.key);  // alone
  put("/node1.pem", other.certificate);
  fs::remove(folder + "/node1.key");
  put("/node1.pem", "no certificate");
}

TEST(MakeCertificatesTest, NewKeysArePrivateWhereOldOnesWereNot) {
  const std::string folder = NewFolder("modes");
  constexpr fs::perms kOpen = fs::perms(0644), kPrivate = fs::perms(0600);
  std::ostringstream out;
  ASSERT_EQ(MakeCertificates({.folder = folder, .hosts = {"node1"}}, out), absl::OkStatus());
  fs::permissions(folder + "/node1.key", kOpen);
  ASSERT_EQ(MakeCertificates({.folder = folder, .hosts = {"node1"}}, out), absl::OkStatus());
  EXPECT_EQ(fs::status(folder + "/node1.key").permissions(), kPrivate);
  EXPECT_EQ(fs::status(folder + "/authority.key").permissions(), kPrivate);
  EXPECT_EQ(Files(folder, "node1"), absl::OkStatus());
}

TEST(MakeCertificatesTest, AnAuthorityThatOthersKnowIsRefused) {
  const std::string folder = NewFolder("known");
  std::ostringstream out;
  ASSERT_EQ(MakeCertificates({.folder = folder, .hosts = {"node1"}}, out), absl::OkStatus());
  fs::permissions(folder + "/authority.key", fs::perms(0640));
  const absl::Status status = MakeCertificates({.folder = folder, .hosts = {"node2"}}, out);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("authority.key: other users may read"));
  EXPECT_FALSE(fs::exists(folder + "/node2.key"));
}

// Its file would be that of the authority's key.
TEST(MakeCertificatesTest, NoHostIsCalledLikeTheAuthority) {
  const std::string folder = ::testing::TempDir() + "/no_authority";
  std::filesystem::remove_all(folder);
  std::ostringstream out;
  const absl::Status status =
      MakeCertificates({.folder = folder, .hosts = {"node1", "authority"}}, out);
  EXPECT_EQ(ExitCodeOf(status), kExitUsage);
  EXPECT_EQ(status.message(), "\"authority\": is not a name for a host here");
}

TEST(MakeCertificatesTest, WhereOneNameIsRefusedNothingIsWritten) {
  const std::string folder = NewFolder("refused") + "/new";
  std::ostringstream out;
  for (const char* wrong : {"a b", "authority", ",", "node1,10.0.0.2"}) {
    const absl::Status status =
        MakeCertificates({.folder = folder, .hosts = {"node1", wrong}}, out);
    EXPECT_EQ(ExitCodeOf(status), kExitUsage) << status;
    EXPECT_FALSE(fs::exists(folder)) << wrong;
  }
  EXPECT_EQ(out.str(), "");
}

TEST(MakeCertificatesTest, IdentitiesAreLinesOfAListAndPrivateKeys) {
  const std::string folder = NewFolder("identities") + "/new";
  const std::string names = "--folder=" + folder + " --identities=north,south-2";
  const Outcome outcome = Launch(kProgram, names);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
  for (const std::string name : {"north", "south-2"}) {
    const std::string path = folder + "/" + name + ".key";
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    const Ed25519PublicKey key = Must(Ed25519PublicKeyOf(Must(ReadEd25519File(path))));
    EXPECT_THAT(outcome.text, HasSubstr("# " + path + " is for " + name + " alone\n" + name + " " +
                                        ToText(key) + "\n"));
  }
  const std::string before = Contents(folder + "/north.key");
  fs::remove(folder + "/south-2.key");
  const Outcome again = Launch(kProgram, "--folder=" + folder + " --identities=south-2,north");
  EXPECT_NE(again.exit_code, 0);
  EXPECT_THAT(again.text,
              HasSubstr("/north.key: is there; move it away, if north needs a new key"));
  EXPECT_EQ(Contents(folder + "/north.key"), before);
  EXPECT_FALSE(fs::exists(folder + "/south-2.key")) << "nothing is written where one is there";
}

TEST(MakeCertificatesTest, WrongUsageSaysWhatToDo) {
  const std::string folder = NewFolder("wrong");
  const std::string to = "--folder=" + folder + " ";
  const std::vector<std::string> usages = {"node1",
                                           to,
                                           to + "../node1",
                                           to + "'a b'",
                                           "--days=0 node1",
                                           to + "--identities=a,../b",
                                           to + "--identities=a,a",
                                           to + "--identities=a node1"};
  for (const std::string& wrong : usages) {
    const Outcome outcome = Launch(kProgram, wrong);
    EXPECT_EQ(outcome.exit_code, kExitUsage) << outcome.text;
  }
}

}  // namespace
}  // namespace dtnn
