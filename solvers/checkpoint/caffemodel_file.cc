#include "solvers/checkpoint/caffemodel_file.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/wire_format_lite.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "core/error.h"
#include "solvers/checkpoint/file_io.h"

namespace gf {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr uint32_t Tag(uint32_t field) {
  return field << 3 | WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
}
constexpr uint32_t kInput = Tag(NetParameter::kInputFieldNumber);
constexpr uint32_t kLayer = Tag(NetParameter::kLayerFieldNumber);
constexpr uint32_t kOldLayers = Tag(2);  // V1LayerParameter

class File {
 public:
  explicit File(const std::string& path) : path_(path) {
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) ThrowUserError("cannot open ", path, ": ", ExplainErrno(errno));
  }
  ~File() { close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int fd() const { return fd_; }

  // Caffe also writes HDF5, whose files begin with this signature.
  bool is_hdf5() const {
    static const char kSignature[] = "\x89HDF\r\n\x1a\n";
    char start[8];
    return pread(fd_, start, sizeof(start), 0) == sizeof(start) &&
           std::memcmp(start, kSignature, sizeof(start)) == 0;
  }

  // Bytes; protobuf's messages, so Caffe's files too, end at 2 GiB.
  int size() const {
    struct stat info;
    if (fstat(fd_, &info) != 0) ThrowUserError("cannot read ", path_, ": ", ExplainErrno(errno));
    if (!S_ISREG(info.st_mode)) ThrowUserError(path_, ": not a regular file");
    if (info.st_size > INT_MAX) {
      ThrowUserError(path_, ": not a Caffe model: it has ", info.st_size,
                     " bytes, those have at most ", INT_MAX);
    }
    return static_cast<int>(info.st_size);
  }

 private:
  const std::string path_;
  int fd_;
};

// The fields of a NetParameter.
class Parser {
 public:
  Parser(const std::string& path, int size, CodedInputStream* in)
      : path_(path), size_(size), in_(in) {}

  void Run(const std::function<void(const std::string&)>& input,
           const std::function<void(LayerParameter*)>& layer) {
    while (in_->CurrentPosition() < size_) {
      const uint32_t tag = in_->ReadTag();
      if (tag == kOldLayers) {
        ThrowUserError(path_,
                       ": is in Caffe's old format (\"layers\", V1LayerParameter), expected "
                       "\"layer\": convert it with Caffe's tool: upgrade_net_proto_binary ",
                       path_, " NEW.caffemodel");
      } else if (tag == kInput) {
        std::string name;
        if (!in_->ReadString(&name, Length("an input's name"))) Fail("an input is cut off");
        input(name);
      } else if (tag == kLayer) {
        ReadLayer(layer);
      } else if (tag == 0 || !WireFormatLite::SkipField(in_, tag)) {
        Fail(StrCat("byte ", in_->CurrentPosition(), " does not continue a NetParameter"));
      }
    }
    if (layers_ == 0) Fail("it has no layers");
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    ThrowUserError(path_, ": not a valid Caffe model (binary NetParameter): ", what,
                   ". Perhaps an incomplete download or copy?");
  }

  // The length that stands before a field, at most what is left of the file.
  int Length(const std::string& what) {
    uint32_t length = 0;
    if (!in_->ReadVarint32(&length)) Fail(StrCat(what, " is cut off"));
    const int left = size_ - in_->CurrentPosition();
    if (length > static_cast<uint32_t>(left)) {
      Fail(StrCat(what, " should have ", length, " bytes, but the file has ", left, " more"));
    }
    return static_cast<int>(length);
  }

  void ReadLayer(const std::function<void(LayerParameter*)>& layer) {
    const std::string what = StrCat("layer number ", ++layers_);
    const CodedInputStream::Limit limit = in_->PushLimit(Length(what));
    LayerParameter message;
    if (!message.MergePartialFromCodedStream(in_) || !in_->ConsumedEntireMessage() ||
        in_->BytesUntilLimit() != 0) {
      Fail(StrCat(what, " is damaged"));
    }
    in_->PopLimit(limit);
    layer(&message);
  }

  const std::string path_;
  const int size_;
  CodedInputStream* in_;
  int layers_ = 0;
};

}  // namespace

void ReadCaffeModel(const std::string& path, const std::function<void(const std::string&)>& input,
                    const std::function<void(LayerParameter*)>& layer) {
  const File file(path);
  const int size = file.size();
  if (file.is_hdf5()) {
    ThrowUserError(path,
                   ": is a Caffe model in HDF5, expected a binary NetParameter: write it again "
                   "in Caffe with snapshot_format: BINARYPROTO, or with net.save()");
  }
  google::protobuf::io::FileInputStream stream(file.fd(), 1 << 20);
  CodedInputStream in(&stream);
  in.SetTotalBytesLimit(INT_MAX);
  Parser(path, size, &in).Run(input, layer);
}

Shape CaffeBlobShape(const BlobProto& blob, const std::string& where) {
  std::vector<int64_t> dims = {blob.num(), blob.channels(), blob.height(), blob.width()};
  if (blob.has_shape()) dims.assign(blob.shape().dim().begin(), blob.shape().dim().end());
  Shape shape(std::move(dims));
  if (!IsSane(shape)) ThrowUserError(where, ": has the impossible shape ", shape.ToString());
  const int64_t values = blob.double_data_size() > 0 ? blob.double_data_size() : blob.data_size();
  if (values != shape.count()) {
    ThrowUserError(where, ": has ", values, " values, but its shape ", shape.ToString(), " takes ",
                   shape.count(), ": the file is damaged");
  }
  return shape;
}

std::vector<float> TakeCaffeBlob(BlobProto* blob) {
  std::vector<float> values;
  if (blob->double_data_size() > 0) {
    values.assign(blob->double_data().begin(), blob->double_data().end());
  } else {
    values.assign(blob->data().begin(), blob->data().end());
  }
  blob->Clear();
  return values;
}

}  // namespace gf
