#include "tools/version.h"

#include <dnnl.h>
#include <google/protobuf/stubs/common.h>
#include <mpi.h>

#include "core/error.h"
#include "core/version.h"

namespace gf {

std::string Version() {
  const dnnl_version_t* dnnl = dnnl_version();
  char mpi[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(mpi, &length);
  const std::string name(mpi, static_cast<size_t>(length));
  return StrCat("GradientFlow ", kVersion, " (oneDNN ", dnnl->major, ".", dnnl->minor, ".",
                dnnl->patch, ", protobuf ",
                google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION), ", ",
                name.substr(0, name.find(',')), ")");
}

}  // namespace gf
