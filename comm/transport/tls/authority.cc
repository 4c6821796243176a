#include "comm/transport/tls/authority.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <memory>

#include "comm/secrets/crypto/openssl_error.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using X509Pointer = std::unique_ptr<X509, decltype(&X509_free)>;
using BioPointer = std::unique_ptr<BIO, decltype(&BIO_free)>;

constexpr int kSerialBits = 127;

std::string Contents(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  return std::string(bytes, size_t(std::max(0l, size)));
}

BioPointer ToRead(const std::string& text) {
  return BioPointer(BIO_new_mem_buf(text.data(), int(text.size())), BIO_free);
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  const bool added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

bool SetName(X509_NAME* name, std::string_view text) {
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    int(text.size()), -1, 0) == 1;
}

bool SetSerial(X509* certificate) {
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(BN_new(), BN_free);
  return number != nullptr &&
         BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

// All but issuer, extensions and signature.
bool Fill(X509* certificate, EVP_PKEY* key, std::string_view name, const Validity& validity) {
  return X509_set_version(certificate, X509_VERSION_3) == 1 && SetSerial(certificate) &&
         X509_gmtime_adj(X509_getm_notBefore(certificate), long(validity.from.count())) &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), long(validity.until.count())) &&
         SetName(X509_get_subject_name(certificate), name) &&
         X509_set_pubkey(certificate, key) == 1;
}

absl::StatusOr<Certificate> ToPem(X509* certificate, EVP_PKEY* key) {
  const BioPointer first(BIO_new(BIO_s_mem()), BIO_free), second(BIO_new(BIO_s_secmem()), BIO_free);
  if (PEM_write_bio_X509(first.get(), certificate) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(second.get(), key, nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return OpenSslError("write a certificate");
  }
  return Certificate{.certificate = Contents(first.get()), .key = Contents(second.get())};
}

// "DNS:node1" or "IP:10.0.0.1"; a comma would begin another name.
absl::StatusOr<std::string> AlternativeName(const std::string& name) {
  ASN1_OCTET_STRING* const address = a2i_IPADDRESS(name.c_str());
  ASN1_OCTET_STRING_free(address);
  if (address != nullptr) return "IP:" + name;
  const bool good = !name.empty() && name.size() <= 253 && !name.starts_with('-') &&
                    std::ranges::all_of(name, [](unsigned char c) {
                      return std::isalnum(c) || c == '-' || c == '.' || c == '_';
                    });
  if (good) return "DNS:" + name;
  return InvalidArgument(Quoted(name), ": expected the name of a host, or an address in numbers");
}

}  // namespace

std::string IssuerOf(const std::string& certificate) {
  const X509Pointer parsed(PEM_read_bio_X509(ToRead(certificate).get(), nullptr, nullptr, nullptr),
                           X509_free);
  char name[256] = "";
  if (parsed != nullptr) {
    X509_NAME_get_text_by_NID(X509_get_issuer_name(parsed.get()), NID_commonName, name,
                              sizeof(name));
  }
  ERR_clear_error();
  return name;
}

absl::StatusOr<Certificate> MakeAuthority(std::string_view name, const Validity& validity) {
  const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const X509Pointer certificate(X509_new(), X509_free);
  X509* const c = certificate.get();
  if (key == nullptr || c == nullptr || !Fill(c, key.get(), name, validity) ||
      X509_set_issuer_name(c, X509_get_subject_name(c)) != 1 ||
      !AddExtension(c, c, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !AddExtension(c, c, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !AddExtension(c, c, NID_subject_key_identifier, "hash") ||
      X509_sign(c, key.get(), EVP_sha256()) == 0) {
    return OpenSslError("make an authority");
  }
  return ToPem(c, key.get());
}

absl::StatusOr<Certificate> MakeHostCertificate(const Certificate& authority,
                                                const std::vector<std::string>& names,
                                                const Validity& validity) {
  if (names.empty()) return InvalidArgument("a host's certificate needs a name or an address");
  std::string alternatives;
  for (const std::string& name : names) {
    DTNN_ASSIGN_OR_RETURN(const std::string alternative, AlternativeName(name));
    StrAppend(&alternatives, alternatives.empty() ? "" : ",", alternative);
  }
  const BioPointer issuer_text = ToRead(authority.certificate), key_text = ToRead(authority.key);
  const X509Pointer issuer(PEM_read_bio_X509(issuer_text.get(), nullptr, nullptr, nullptr),
                           X509_free);
  const Key issuer_key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr),
                       EVP_PKEY_free);
  if (issuer == nullptr || issuer_key == nullptr || X509_check_ca(issuer.get()) != 1 ||
      X509_check_private_key(issuer.get(), issuer_key.get()) != 1) {
    ERR_clear_error();
    return InvalidArgument("the authority is none, or its key is not that of its certificate");
  }
  const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const X509Pointer certificate(X509_new(), X509_free);
  X509* const c = certificate.get();
  // Common names have at most 64 characters; nobody looks at them.
  if (key == nullptr || c == nullptr || !Fill(c, key.get(), names[0].substr(0, 64), validity) ||
      X509_set_issuer_name(c, X509_get_subject_name(issuer.get())) != 1 ||
      !AddExtension(c, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !AddExtension(c, issuer.get(), NID_key_usage, "critical,digitalSignature") ||
      !AddExtension(c, issuer.get(), NID_ext_key_usage, "serverAuth,clientAuth") ||
      !AddExtension(c, issuer.get(), NID_subject_alt_name, alternatives) ||
      !AddExtension(c, issuer.get(), NID_subject_key_identifier, "hash") ||
      !AddExtension(c, issuer.get(), NID_authority_key_identifier, "keyid:always") ||
      X509_sign(c, issuer_key.get(), EVP_sha256()) == 0) {
    return OpenSslError("make a certificate");
  }
  return ToPem(c, key.get());
}

}  // namespace dtnn
