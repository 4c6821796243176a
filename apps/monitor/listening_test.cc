#include "apps/monitor/listening.h"

#include <string>

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/access/private_file.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

class ListeningTest : public ::testing::Test {
 protected:
  ListenOptions WithToken(const std::string& contents) {
    const absl::Status status = WritePrivateFile(file_, contents);
    EXPECT_TRUE(status.ok()) << status;
    ListenOptions options;
    options.token_file = file_;
    return options;
  }
  static std::string Error(const ListenOptions& options) {
    return std::string(ListeningAt(options, 0, "--").status().message());
  }

  const std::string file_ = testing::NewFolder("listening") + "/token";
};

TEST_F(ListeningTest, ATokenIsWhatStandsBeforeTheEndsOfLines) {
  for (const char* end : {"", "\n", "\r\n", "\r", "\n\n", "\r\n\r\n"}) {
    EXPECT_EQ(Must(ListeningAt(WithToken(std::string("0123456789abcdef") + end), 0, "--")).token,
              "0123456789abcdef");
  }
}

TEST_F(ListeningTest, TokensHaveASizeAndNoSpaces) {
  for (const size_t size : {16, 17, 4096}) {
    EXPECT_EQ(Error(WithToken(std::string(size, '~'))), "") << size;
  }
  for (const char* bad : {"", "\r\n", "0123456789abcde", "0123456789abcde\n", "01234567 89abcdef",
                          "0123456789abcdef ", "0123456\n789abcdef", "0123456789abcdef\x7f",
                          "0123456789abcdef\xc3\xa4"}) {
    EXPECT_EQ(Error(WithToken(bad)),
              file_ +
                  ": expected a token of 16 characters or more, without spaces; openssl rand -hex "
                  "32 makes one")
        << bad;
  }
  EXPECT_THAT(Error(WithToken(std::string(4097, '~'))), ::testing::HasSubstr("4096 bytes"));
}

TEST_F(ListeningTest, OtherHostsNeedACertificateAndAToken) {
  ListenOptions options = WithToken("0123456789abcdef");
  options.listen = "0.0.0.0";
  const std::string open =
      "--listen=0.0.0.0: other hosts can connect there; give --certificate, --key and "
      "--token-file, or --allow-unprotected where something else protects it";
  EXPECT_EQ(Error(options), open) << "a token alone";
  options.certificate = "c";
  EXPECT_EQ(Error(options), "--certificate and --key: give both, or neither");
  options.key = "k";
  EXPECT_EQ(Error(options), "");
  options.token_file = "";
  EXPECT_EQ(Error(options), open) << "TLS alone";
  options.allow_unprotected = true;
  EXPECT_EQ(Error(options), "");
  options.certificate = "";
  EXPECT_EQ(Error(options), "--certificate and --key: give both, or neither");
}

TEST_F(ListeningTest, NamesCountWhereAPageCouldAskOrTheyAreGiven) {
  ListenOptions options;
  const HttpServerOptions alone = Must(ListeningAt(options, 9100, "--"));
  EXPECT_EQ(alone.address.host, "127.0.0.1");
  EXPECT_EQ(alone.address.port, 9100);
  EXPECT_THAT(alone.hosts, Optional(ElementsAre("127.0.0.1")));
  options.allowed_hosts = "a.example,b.example";
  EXPECT_THAT(Must(ListeningAt(options, 0, "--")).hosts,
              Optional(ElementsAre("127.0.0.1", "a.example", "b.example")));
  options = WithToken("0123456789abcdef");
  EXPECT_EQ(Must(ListeningAt(options, 0, "--")).hosts, std::nullopt);
  options.allowed_hosts = "a.example";
  EXPECT_THAT(Must(ListeningAt(options, 0, "--")).hosts,
              Optional(ElementsAre("127.0.0.1", "a.example")));
  options = {};
  options.listen = "0.0.0.0";
  options.allow_unprotected = true;
  EXPECT_EQ(Must(ListeningAt(options, 0, "--")).hosts, std::nullopt);
}

}  // namespace
}  // namespace dtnn
